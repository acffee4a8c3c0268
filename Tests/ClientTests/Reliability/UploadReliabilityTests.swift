import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Known failures of other clients in uploading (reliability 1.7, whose numbers these are).
///
/// R1, R3, R4 and R6 are in `UploaderTests`.
@Suite(.patient())
struct UploadReliabilityTests {
    /// Lets the uploader do all that it was asked for so far.
    private func finishUploads(_ bench: ConnectedBench, _ clock: SteppedClock) async throws {
        let coordinator = try #require(bench.database.group.coordinator)
        while true {
            try await wait(for: "the uploader to rest") {
                coordinator.uploads.isAwaited || clock.waiting.contains(.seconds(1))
            }
            if coordinator.uploads.isAwaited { return }
            clock.advance(by: .seconds(1))
        }
    }

    @Test("R2 A write is uploaded although nobody but the uploader hears of changed tables")
    func aWriteIsUploadedWhereNobodyWatches() async throws {
        let clock = SteppedClock()
        let bench = try ConnectedBench(environment: clock.environment)
        let connector = TestConnector()
        try await bench.connect(connector)
        bench.completeEmptyCheckpoint(try await bench.stream())
        try await bench.database.waitForFirstSync()
        let writes: [@Sendable (any PowerSyncDatabaseProtocol) async throws -> Void] = [
            { database in
                _ = try await database.execute("INSERT INTO users (id, name) VALUES ('0', 'A')")
            },
            { database in
                try await database.writeTransaction { transaction in
                    _ = try transaction.execute(
                        sql: "INSERT INTO users (id, name) VALUES ('1', 'B')", parameters: [])
                }
            },
            { database in
                try await database.writeLock { connection in
                    _ = try connection.execute(
                        sql: "INSERT INTO users (id, name) VALUES ('2', 'C')", parameters: [])
                }
            },
        ]
        for (number, write) in writes.enumerated() {
            // Nothing is left that could make it look at the queue: neither the opening of the stream nor a round.
            try await finishUploads(bench, clock)
            #expect(bench.database.changes.watcherCount == 0)
            #expect(connector.uploads == number)
            try await write(bench.database)
            try await wait(for: "upload \(number)") { connector.uploads == number + 1 }
        }
        // What it was called for last the connector may still be looking for.
        try await wait(for: "all of them", read: { connector.entries.map(\.id) }) { $0 == ["0", "1", "2"] }
        try await bench.database.close()
    }

    @Test("R5 An upload that a keepalive began does not hold up reading of the stream")
    func theStreamIsReadWhileAnUploadOfAKeepaliveHangs() async throws {
        let gate = Gate()
        let rig = try await SyncRig(
            transport: ScriptedTransport(answers: [.writeCheckpoint(1)]),
            upload: { _, pool in
                await gate.pass()
                try await pool.write { try $0.run("DELETE FROM ps_crud") }
            })
        try await SyncRig.run(rig) { rig in
            // Before the coordinator is stopped, which waits for the upload.
            defer { gate.open() }
            let stream = try await rig.stream(0)
            stream.send(SyncLines.checkpoint(0, []), SyncLines.complete(0))
            try await wait(for: "the first line to be handled") { rig.isSynced }
            try await rig.finishUploads()
            // A write that nobody told the coordinator of.
            try await rig.pool.write { connection in
                try connection.transaction { try connection.run("INSERT INTO items(id) VALUES ('x')") }
            }
            stream.send(SyncLines.tokenExpires(in: 3600))
            try await wait(for: "the upload") { gate.arrivals == 1 }
            // What may be shown while local changes wait is shown, and the rest is downloaded.
            stream.send(
                SyncLines.checkpoint(
                    2, [.init("urgent", checksum: 5, priority: 0), .init("b", checksum: 6)]),
                SyncLines.data("urgent", SyncLines.put(1, "remote", checksum: 5)), SyncLines.partial(0, 2),
                SyncLines.data("b", SyncLines.put(2, "later", checksum: 6)))
            try await wait(for: "the urgent row") { try await rig.items() == ["remote", "x"] }
            try await wait(for: "the rest") {
                await rig.status.downloading?.map(\.downloadedOperations) == [1, 1]
            }
            #expect(gate.arrivals == 1)
            #expect(await rig.status.uploading)
        }
    }

    @Test("R8 A row that was uploaded stays while the service lags behind, until its write checkpoint comes")
    func anUploadedRowStaysUntilItsWriteCheckpoint() async throws {
        let bench = try ConnectedBench(transport: ScriptedTransport(answers: [.writeCheckpoint(7)]))
        let database = bench.database
        try await database.execute("INSERT INTO users (id, name) VALUES ('u', 'local write')")
        let seen = Lock<[[String]]>([])
        let results = try database.watch(
            options: WatchOptions(sql: "SELECT name FROM users WHERE id = 'u'", throttle: 0) {
                try $0.getString(index: 0)
            })
        let watching = Task { for try await names in results { seen.withLock { $0.append(names) } } }
        try await bench.connect()
        let stream = try await bench.stream()
        try await wait(
            for: "the target",
            read: {
                try await database.getOptional(
                    "SELECT value FROM ps_kv WHERE key = 'target_checkpoint_request_id'"
                ) { try $0.getInt64(index: 0) }
            }, until: { $0 == 7 })
        // The backend has it; what the service tells is of before, however often that is complete.
        let lagging: [(last: Int, writeCheckpoint: Int?)] = [(1, nil), (2, 6)]
        for (index, line) in lagging.enumerated() {
            stream.send(
                SyncLines.checkpoint(
                    line.last, [.init("b", checksum: 5 * Int64(line.last), count: line.last)],
                    writeCheckpoint: line.writeCheckpoint),
                SyncLines.data(
                    "b",
                    SyncLines.put(
                        line.last, "other \(line.last)", checksum: 5, type: "users",
                        data: #"{"name":"other"}"#)), SyncLines.complete(line.last))
            try await wait(for: "checkpoint \(index) to be kept back") {
                bench.log.lines.count { $0.message.contains("due to local data") } == index + 1
            }
            #expect(try await bench.users() == ["local write"])
        }
        stream.send(
            SyncLines.checkpoint(3, [.init("b", checksum: 15, count: 3)], writeCheckpoint: 7),
            SyncLines.data(
                "b", SyncLines.put(3, "u", checksum: 5, type: "users", data: #"{"name":"from server"}"#)),
            SyncLines.complete(3))
        try await wait(for: "the row of the service") {
            try await bench.users() == ["from server", "other", "other"]
        }
        try await wait(for: "the last result") { seen.withLock { $0.last } == ["from server"] }
        // Nothing in between: neither no row nor one of before.
        #expect(seen.withLock { $0.allSatisfy { [["local write"], ["from server"]].contains($0) } })
        try await database.close()
        try await wait(forEndOf: watching)
    }

    @Test("R21 Several changes of one row are uploaded one after the other without a delay")
    func changesOfOneRowAreNotTakenForOneEntry() async throws {
        let rig = try await SyncRig(
            transport: ScriptedTransport(answers: [.writeCheckpoint(1)]),
            upload: { _, pool in
                try await pool.write {
                    try $0.run("DELETE FROM ps_crud WHERE id = (SELECT min(id) FROM ps_crud)")
                }
            })
        try await rig.writeLocally("a")
        for text in ["second", "third"] {
            try await rig.pool.write(isCounted: true) { connection in
                try connection.transaction {
                    try connection.run("UPDATE items SET col = ?1 WHERE id = 'a'", [.text(text)])
                }
            }
        }
        try await SyncRig.run(rig) { rig in
            _ = try await rig.stream(0)
            try await wait(for: "the write checkpoint") {
                try await rig.database.write { try $0.target() } == 1
            }
            #expect(rig.uploads == 3)
            #expect(rig.clock.now == .zero)
            #expect(!rig.log.contains { $0.contains("Potentially") })
            #expect(!rig.snapshots.contains { $0.uploadError != nil })
        }
    }
}
