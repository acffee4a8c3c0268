import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// What becomes of transfers that end at the same time (Client/Attachments/SPEC.md, "Transfers").
@Suite(.patient()) struct FinishedTransfersTests {
    /// Rows and files without a queue that transfers them.
    private struct Bench {
        let base: AttachmentBench
        let writes = Lock(0)
        /// Whether the database takes no write any more.
        let isFull = Lock(false)
        /// What somebody else does before each write.
        let meanwhile = Lock<(@Sendable () async throws -> Void)?>(nil)
        let service: AttachmentService
        let progress = AttachmentProgress(.system())
        let tasks = AttachmentTasks()
        let finished: FinishedTransfers

        init() async throws {
            let base = try AttachmentBench(.init(watch: { AttachmentBench.watchingNothing() }))
            try await base.queue.waitForInit()
            try FileManager.default.createDirectory(
                atPath: base.path(".powersync-part"), withIntermediateDirectories: true)
            self.base = base
            let (writes, isFull, meanwhile) = (self.writes, self.isFull, self.meanwhile)
            let database = ForeignDatabase(
                base: base.database,
                beforeWrite: {
                    if isFull.withLock({ $0 }) { throw TestError(text: "full") }
                    writes.withLock { $0 += 1 }
                    if let change = meanwhile.withLock({ $0 }) { try await change() }
                })
            let context = AttachmentContext(
                db: database, tableName: "attachments", logger: base.database.logger, maxArchivedCount: 100)
            service = AttachmentService(context)
            let local = LocalFiles(
                storage: FileManagerStorageAdapter(), subdirectories: [], path: { base.path($0) })
            finished = FinishedTransfers(
                TransferParts(
                    remote: base.storage, local: local, service: service, errorHandler: nil,
                    logger: base.database.logger, progress: progress, environment: .system()), tasks)
        }

        /// Adds rows that wait for a download, each with a file that was brought.
        func add(_ ids: String...) async throws {
            for id in ids {
                try base.write([1, 2, 3], to: ".powersync-part/\(id).jpg")
                try await base.put(Attachment(id: id, filename: "\(id).jpg", state: .queuedDownload))
            }
        }

        /// A file that was brought, and gets its name as others do unless the test says how.
        func brought(
            _ id: String, publish: (@Sendable () async throws -> Int64)? = nil,
            drop: @escaping @Sendable () -> Void = {}
        ) -> FinishedTransfer {
            let (path, temporary) = (base.path("\(id).jpg"), base.path(".powersync-part/\(id).jpg"))
            let move: @Sendable () async throws -> Int64 = {
                try FileManager.default.moveItem(atPath: temporary, toPath: path)
                return 3
            }
            return transfer(
                id,
                FileTransfer.Brought(
                    path: path, temporary: temporary, publish: publish ?? move, drop: drop))
        }

        /// A download that was done.
        func transfer(_ id: String, _ file: FileTransfer.Brought) -> FinishedTransfer {
            FinishedTransfer(
                attachment: Attachment(id: id, filename: "\(id).jpg", state: .queuedDownload),
                lane: .download, done: FileTransfer.Done(bytes: 3, file: file))
        }

        /// An upload, or a delete, that was done of a row as it is.
        func done(_ lane: TransferLane, _ id: String) async throws -> FinishedTransfer {
            let row = try await base.row(id)
            return FinishedTransfer(
                attachment: try #require(row), lane: lane, done: FileTransfer.Done(bytes: 3))
        }

        /// Has transfers end while somebody else has access to the rows; returns what each of them failed with.
        func write(_ transfers: FinishedTransfer...) async throws -> [(any Error)?] {
            let gate = Gate()
            let holder = Task { [service] in try await service.withContext { _ in await gate.pass() } }
            try await wait(for: "the access") { gate.arrivals == 1 }
            var tasks: [Task<Void, any Error>] = []
            for transfer in transfers {
                tasks.append(Task { [finished] in try await finished.write(transfer) })
                try await wait(for: "a transfer that waits") { finished.waiterCount == tasks.count }
            }
            writes.withLock { $0 = 0 }
            gate.open()
            try await wait(forEndOf: holder)
            var failures: [(any Error)?] = []
            for task in tasks {
                switch await task.result {
                case .success: failures.append(nil)
                case .failure(let error): failures.append(error)
                }
            }
            return failures
        }

        /// How many writes there were since the transfers were let on.
        var writeCount: Int { writes.withLock { $0 } }

        /// The states of rows.
        func states(_ ids: String...) async throws -> [AttachmentState?] {
            var states: [AttachmentState?] = []
            for id in ids { states.append(try await base.row(id)?.state) }
            return states
        }
    }

    @Test func whatEndsWhileOthersAreWrittenIsOneTransaction() async throws {
        let bench = try await Bench()
        try await bench.add("p1", "p2", "p3")
        let state = AttachmentState.queuedDownload.rawValue
        bench.progress.count([WaitingFiles(state: state, files: 3, bytes: 0)])
        let failures = try await bench.write(
            bench.brought("p1"), bench.brought("p2"), bench.brought("p3"))
        #expect(failures.allSatisfy { $0 == nil })
        #expect(bench.writeCount == 1)
        #expect(try await bench.states("p1", "p2", "p3") == [.synced, .synced, .synced])
        for id in ["p1", "p2", "p3"] {
            let row = try await bench.base.row(id)
            #expect(row?.localUri == bench.base.path("\(id).jpg") && row?.size == 3)
            #expect(bench.base.bytes("\(id).jpg") == [1, 2, 3])
        }
        // Each has a time of its own, in the order of the ends.
        let times = try await bench.base.rows().map(\.timestamp)
        #expect(Set(times).count == 3)
        #expect(try await bench.base.rows().map(\.id) == ["p1", "p2", "p3"])
        let downloads = bench.progress.status[.download]
        #expect(downloads.waitingFiles == 0 && downloads.doneFiles == 3 && downloads.doneBytes == 9)
        try await bench.base.close()
    }

    @Test func oneThatCannotHaveItsNameFailsAlone() async throws {
        let bench = try await Bench()
        try await bench.add("p1", "p2", "p3")
        let failures = try await bench.write(
            bench.brought("p1"), bench.brought("p2", publish: { throw TestError(text: "no") }),
            bench.brought("p3"))
        #expect(failures[0] == nil && failures[2] == nil)
        let failure = failures[1] as? FinishedTransfers.Unpublished
        #expect(failure?.cause as? TestError == TestError(text: "no"))
        #expect(try await bench.states("p1", "p2", "p3") == [.synced, .queuedDownload, .synced])
        #expect(bench.writeCount == 1)
        try await bench.base.close()
    }

    @Test func oneThatItsRowDoesNotWantIsDropped() async throws {
        let bench = try await Bench()
        try await bench.add("p1", "p2")
        try await bench.base.put(
            Attachment(id: "p2", filename: "p2.jpg", state: .archived, hasSynced: true))
        let dropped = Lock<[String]>([])
        let failures = try await bench.write(
            bench.brought("p1", drop: { dropped.withLock { $0.append("p1") } }),
            bench.brought("p2", drop: { dropped.withLock { $0.append("p2") } }))
        #expect(failures.allSatisfy { $0 == nil })
        #expect(dropped.withLock { $0 } == ["p2"])
        #expect(try await bench.states("p1", "p2") == [.synced, .archived])
        #expect(bench.base.bytes("p2.jpg") == nil)
        try await bench.base.close()
    }

    /// A crash right behind would leave a row without its file.
    @Test func noRowIsWrittenBeforeTheNamesAreOnTheDisk() async throws {
        let bench = try await Bench()
        try await bench.add("p1", "p2")
        let lost = FileTransfer.Brought(
            path: bench.base.path("p2.jpg"), temporary: bench.base.folder.file("nowhere/p2.jpg"),
            publish: { 3 })
        let failures = try await bench.write(bench.transfer("p2", lost), bench.brought("p1"))
        #expect((failures[0] as? FinishedTransfers.Unpublished)?.cause is PowerSyncAttachmentError)
        #expect(failures[1] == nil, "of another folder")
        #expect(bench.writeCount == 1)
        #expect(try await bench.states("p1", "p2") == [.synced, .queuedDownload])
        try await bench.base.close()
    }

    /// As another process, which does not wait for the access.
    @Test func aFileWhoseRowIsAnotherOneMeanwhileIsTakenBackUnlessItIsNeeded() async throws {
        let bench = try await Bench()
        try await bench.add("p1", "p2", "p3", "p4")
        let (database, path) = (bench.base.database, bench.base.path("p2.jpg"))
        bench.meanwhile.withLock { meanwhile in
            meanwhile = {
                _ = try await database.execute(
                    sql: "UPDATE attachments SET state = ? WHERE id IN ('p1', 'p3')",
                    parameters: [AttachmentState.archived.rawValue])
                _ = try await database.execute(
                    sql: "UPDATE attachments SET state = ?, local_uri = ? WHERE id = 'p2'",
                    parameters: [AttachmentState.queuedUpload.rawValue, path])
                _ = try await database.execute(
                    sql: """
                        INSERT INTO attachments (id, timestamp, state, filename, has_synced)
                        VALUES ('other', 1, ?, 'p3.jpg', 0)
                        """, parameters: [AttachmentState.queuedDownload.rawValue])
            }
        }
        let failures = try await bench.write(
            bench.brought("p1"), bench.brought("p2"), bench.brought("p3"), bench.brought("p4"))
        #expect(failures.allSatisfy { $0 == nil })
        #expect(
            try await bench.states("p1", "p2", "p3", "p4") == [.archived, .queuedUpload, .archived, .synced])
        #expect(bench.base.bytes("p1.jpg") == nil, "nobody needs it")
        #expect(bench.base.bytes("p2.jpg") == [1, 2, 3], "its row says that it is there")
        #expect(bench.base.bytes("p3.jpg") == [1, 2, 3], "another row has its name")
        #expect(bench.base.bytes("p4.jpg") == [1, 2, 3])
        try await bench.base.close()
    }

    @Test func uploadsAndDeletesAreWrittenAlthoughANameIsNotOnTheDisk() async throws {
        let bench = try await Bench()
        try await bench.add("d1")
        let path = bench.base.path("u1.jpg")
        for row in [
            Attachment(id: "u1", filename: "u1.jpg", state: .queuedUpload, localUri: path),
            Attachment(id: "x1", filename: "x1.jpg", state: .queuedDelete),
            Attachment(id: "x2", filename: "x2.jpg", state: .queuedDelete),
        ] { try await bench.base.put(row) }
        let lost = FileTransfer.Brought(
            path: bench.base.path("d1.jpg"), temporary: bench.base.folder.file("nowhere/d1.jpg"),
            publish: { 3 })
        bench.progress.count(
            TransferLane.allCases.map { WaitingFiles(state: $0.state.rawValue, files: 5, bytes: 9) })
        let failures = try await bench.write(
            bench.done(.upload, "u1"), bench.transfer("d1", lost), bench.done(.delete, "x1"))
        #expect(failures[0] == nil && failures[1] is FinishedTransfers.Unpublished && failures[2] == nil)
        #expect(try await bench.states("u1", "d1", "x1") == [.synced, .queuedDownload, nil])
        #expect(bench.writeCount == 1)
        let status = bench.progress.status
        #expect(status[.upload].doneFiles == 1 && status[.upload].waitingFiles == 0, "the last one")
        #expect(status[.download].doneFiles == 0 && status[.download].waitingFiles == 5)
        #expect(status[.delete].doneFiles == 1 && status[.delete].waitingFiles == 4, "there is another one")
        try await bench.base.close()
    }

    /// An id of the app's choice may be used once more when its row has gone; these bytes were never sent.
    @Test func anUploadSaysNothingOfARowThatCameSince() async throws {
        let bench = try await Bench()
        let row = Attachment(
            id: "u1", filename: "u1.jpg", state: .queuedUpload, localUri: bench.base.path("u1.jpg"))
        try await bench.base.put(row)
        let upload = try await bench.done(.upload, "u1")
        try await bench.base.put(row)
        #expect(try await bench.write(upload).allSatisfy { $0 == nil })
        let now = try await bench.base.row("u1")
        #expect(now?.state == .queuedUpload && now?.hasSynced == false)
        #expect(try await bench.write(bench.done(.upload, "u1")).allSatisfy { $0 == nil })
        #expect(try await bench.states("u1") == [.synced])
        try await bench.base.close()
    }

    @Test func aTransactionThatFailsIsEachOnesFailure() async throws {
        let bench = try await Bench()
        try await bench.add("p1", "p2")
        bench.isFull.withLock { $0 = true }
        let failures = try await bench.write(bench.brought("p1"), bench.brought("p2"))
        #expect(failures.map { $0 as? TestError } == [TestError(text: "full"), TestError(text: "full")])
        #expect(try await bench.states("p1", "p2") == [.queuedDownload, .queuedDownload])
        // They are done once more, and do no harm.
        bench.isFull.withLock { $0 = false }
        let path = bench.base.path("p1.jpg")
        let again = try await bench.write(
            bench.brought(
                "p1",
                publish: {
                    try FileManager.default.removeItem(atPath: path)
                    try Data([4]).write(to: URL(filePath: path))
                    return 1
                }))
        #expect(again.allSatisfy { $0 == nil })
        #expect(try await bench.states("p1", "p2") == [.synced, .queuedDownload])
        try await bench.base.close()
    }

    /// As on a file system that takes two names for one: the row of the first one does not say yet where its file is.
    @Test func aNameThatLeadsToAFileJustNamedIsTaken() async throws {
        let bench = try await Bench()
        try await bench.add("p1", "p2")
        let (first, second) = (bench.base.path("p1.jpg"), bench.base.path("p2.jpg"))
        let dropped = Lock(0)
        let failures = try await bench.write(
            bench.brought(
                "p1",
                publish: {
                    try Data([1, 2, 3]).write(to: URL(filePath: first))
                    try FileManager.default.linkItem(atPath: first, toPath: second)
                    return 3
                }),
            bench.brought(
                "p2",
                publish: {
                    try Data([7]).write(to: URL(filePath: second))
                    return 1
                }, drop: { dropped.withLock { $0 += 1 } }))
        #expect(failures.allSatisfy { $0 == nil })
        #expect(dropped.withLock { $0 } == 1)
        #expect(bench.base.bytes("p1.jpg") == [1, 2, 3])
        #expect(try await bench.states("p1", "p2") == [.synced, .queuedDownload])
        try await bench.base.close()
    }

    @Test func whatAnAppsOwnStorageWritesHoldsUpNoOther() async throws {
        let bench = try await Bench()
        try await bench.add("p1", "p2", "p3", "p4")
        let path = bench.base.path("p3.jpg")
        let own = FileTransfer.Brought(
            path: path,
            publish: {
                try Data([1, 2, 3]).write(to: URL(filePath: path))
                return 3
            })
        let failures = try await bench.write(
            bench.brought("p1"), bench.brought("p2"), bench.transfer("p3", own), bench.brought("p4"))
        #expect(failures.allSatisfy { $0 == nil })
        #expect(bench.writeCount == 3, "two together, then one and one")
        #expect(
            try await bench.states("p1", "p2", "p3", "p4") == [.synced, .synced, .synced, .synced])
        try await bench.base.close()
    }

    @Test func ofARunThatIsOverNothingIsWritten() async throws {
        let bench = try await Bench()
        try await bench.add("p1", "p2")
        bench.tasks.end()
        let failures = try await bench.write(bench.brought("p1"), bench.brought("p2"))
        #expect(failures.allSatisfy { $0 == nil })
        #expect(bench.writeCount == 0)
        #expect(try await bench.states("p1", "p2") == [.queuedDownload, .queuedDownload])
        #expect(bench.base.bytes("p1.jpg") == nil && bench.base.bytes("p2.jpg") == nil)
        try await bench.base.close()
    }
}
