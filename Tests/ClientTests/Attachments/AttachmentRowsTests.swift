import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// What is read of the rows at once (Client/Attachments/SPEC.md, "Transfers").
@Suite(.patient()) struct AttachmentRowsTests {
    /// Rows of a queue that transfers nothing, and how often they were read.
    private struct Bench {
        let base: AttachmentBench
        let reads = Lock(0)
        let rows: AttachmentRows

        init(_ attachments: Attachment...) async throws {
            base = try AttachmentBench(.init(watch: { AttachmentBench.watchingNothing() }))
            try await base.queue.waitForInit()
            for attachment in attachments { try await base.put(attachment) }
            let reads = self.reads
            rows = AttachmentRows(
                db: ForeignDatabase(base: base.database, afterRead: { reads.withLock { $0 += 1 } }),
                sql: AttachmentSQL(name: "attachments"), environment: .system())
        }

        /// How often they were read.
        var readCount: Int { reads.withLock { $0 } }
    }

    private static func row(_ id: String, _ state: AttachmentState, _ filename: String? = nil) -> Attachment {
        Attachment(id: id, filename: filename ?? "\(id).jpg", state: state)
    }

    @Test func whatAPlanWantsToKnowIsReadAtOnce() async throws {
        let bench = try await Bench(
            Self.row("p1", .queuedDownload), Self.row("p2", .queuedUpload), Self.row("p3", .queuedDownload))
        let steps: [TransferPlan.Step] = [
            .restart(.upload), .read(.upload, behind: nil), .read(.download, behind: nil), .cancel("p5"),
            .read(.delete, behind: nil), .inspect(["p1", "p2", "p4"]), .expire,
        ]
        let found = try await bench.rows.look(for: TransferWish(steps))
        #expect(bench.readCount == 1)
        #expect(found.pages.map { $0?.rows.map(\.id) } == [["p2"], ["p1", "p3"], []])
        #expect(found.pages.map { $0?.last?.id } == ["p2", "p3", nil])
        #expect(found.lanes == ["p1": .download, "p2": .upload])
        #expect(found.failure == nil)
        // Behind a place there is no need for the last one.
        let place = try #require(found.pages[1]?.rows.first?.place)
        let rest = try await bench.rows.look(for: TransferWish([.read(.download, behind: place)]))
        #expect(rest.pages.map { $0?.rows.map(\.id) } == [["p3"]])
        #expect(rest.pages.allSatisfy { $0?.last == nil })
        #expect(TransferWish([.restart(.upload), .look("p1"), .expire]).isEmpty)
        try await bench.base.close()
    }

    /// As one that the app has written without a time.
    @Test func aRowThatCannotBeReadKeepsNoOtherLaneFromItsRows() async throws {
        let bench = try await Bench(Self.row("p1", .queuedUpload), Self.row("p2", .queuedDelete))
        _ = try await bench.base.database.execute(
            sql: "INSERT INTO attachments (id, state, filename, has_synced) VALUES ('p3', ?, 'p3.jpg', 0)",
            parameters: [AttachmentState.queuedDownload.rawValue])
        let steps: [TransferPlan.Step] = [
            .read(.upload, behind: nil), .read(.download, behind: nil), .read(.delete, behind: nil),
            .inspect(["p1"]),
        ]
        let found = try await bench.rows.look(for: TransferWish(steps))
        #expect(found.pages.map { $0?.rows.map(\.id) } == [["p1"], nil, ["p2"]])
        #expect(found.lanes == ["p1": .upload])
        #expect(found.failure != nil)
        try await bench.base.close()
    }

    @Test func whatATransferNeedsAtItsBeginningIsReadAtOnce() async throws {
        let bench = try await Bench(
            Self.row("p1", .queuedDownload, "a.jpg"), Self.row("p2", .archived, "a.jpg"),
            Self.row("p3", .queuedUpload, "a.jpg"))
        let download = try await bench.rows.start(of: "p1", in: .download)
        #expect(bench.readCount == 1)
        #expect(download?.attachment.filename == "a.jpg" && download?.isShared == true)
        #expect(download?.hasQueuedWrites == false)
        try await bench.base.addUser(photo: nil)
        let upload = try await bench.rows.start(of: "p3", in: .upload)
        #expect(upload?.hasQueuedWrites == true)
        #expect(upload?.isShared == false, "that is asked for downloads alone")
        // One is in another state, and one is not there.
        for id in ["p2", "p4"] {
            #expect(try await bench.rows.start(of: id, in: .upload)?.attachment.id == nil)
        }
        try await bench.base.close()
    }
}
