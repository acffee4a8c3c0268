import PowerSync
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// What sync reads it reads beside the writer, and finds what was written before.
@Suite(.patient()) struct SyncDatabaseTests {
    /// A rig on a file with connections for reading.
    private func withFile(_ body: (SyncRig) async throws -> Void) async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-reads-")
        defer { folder.remove() }
        let rig = try await SyncRig(
            transport: ScriptedTransport(answers: [.writeCheckpoint(7)]), path: folder.path + "/test.db",
            readers: 2)
        do {
            try await body(rig)
        } catch {
            await rig.pool.close()
            throw error
        }
        await rig.pool.close()
    }

    @Test func readingDoesNotWaitForTheWriter() async throws {
        try await withFile { rig in
            try await rig.writeLocally()
            let release = BlockingGate()
            let pool = rig.pool
            async let holder: Void = pool.write { connection in
                try connection.transaction {
                    try connection.run("DELETE FROM ps_crud")
                    release.wait()
                }
            }
            defer { release.open() }
            try await wait(for: "the writer to be held") { release.arrivals == 1 }
            // What is not committed is not seen.
            #expect(try await rig.database.read { try $0.frontOfUploadQueue() } == 1)
            #expect(try await rig.database.read { try $0.target() } == SyncStore.pendingTarget)
            #expect(try await rig.database.read { try $0.offlineStatus().streams.isEmpty })
            #expect(pool.waitingWrites == 0)
            release.open()
            try await holder
            #expect(try await rig.database.read { try $0.frontOfUploadQueue() } == nil)
        }
    }

    @Test func whatWasAwaitedIsRead() async throws {
        try await withFile { rig in
            for number in 1...200 {
                let pool = rig.pool
                try await pool.write {
                    try $0.run("UPDATE ps_tx SET next_tx = ?1", [.integer(Int64(number))])
                }
                let seen = try await rig.database.read { store in
                    try store.connection.one("SELECT next_tx FROM ps_tx") { $0.int64(0) }
                }
                #expect(seen == Int64(number))
            }
        }
    }

    @Test func allThatIsReadTogetherIsOfOneMoment() async throws {
        try await withFile { rig in
            let between = BlockingGate()
            let pool = rig.pool
            let database = rig.database
            async let pair = database.read { store -> [Int64?] in
                let before = try store.connection.one("SELECT next_tx FROM ps_tx") { $0.int64(0) }
                between.wait()
                return [before, try store.connection.one("SELECT next_tx FROM ps_tx") { $0.int64(0) }]
            }
            defer { between.open() }
            try await wait(for: "the first half to be read") { between.arrivals == 1 }
            try await pool.write { try $0.run("UPDATE ps_tx SET next_tx = next_tx + 100") }
            between.open()
            let seen = try await pair
            #expect(seen[0] == seen[1])
        }
    }

    @Test func anUploadBeginsWhileTheWriterIsBusyAndSeesWhatItHasCompleted() async throws {
        try await withFile { rig in
            try await rig.writeLocally()
            try await SyncRig.run(rig) { rig in
                let stream = try await rig.stream(0)
                try await wait(for: "the connection") { await rig.status.connected }
                stream.send(SyncLines.checkpoint(0, []), SyncLines.complete(0))
                try await wait(for: "the target to be known") {
                    try await rig.database.read { try $0.target() } == 7
                }
                #expect(rig.uploads == 1)
                try await wait(for: "the round to end") { await !rig.status.uploading }
                try await rig.restThrottle()

                let release = BlockingGate()
                let pool = rig.pool
                try await pool.write { try $0.run("INSERT INTO items(id, col) VALUES ('second', 'mine')") }
                async let holder: Void = pool.write { _ in release.wait() }
                defer { release.open() }
                try await wait(for: "the writer to be held") { release.arrivals == 1 }
                rig.coordinator.triggerUpload()
                try await wait(for: "the second upload") { rig.uploads == 2 }
                release.open()
                try await holder
                try await wait(for: "an empty queue") {
                    try await rig.database.read { try $0.frontOfUploadQueue() } == nil
                }
                #expect(!rig.log.contains { $0.contains("still present in the upload queue") })
            }
        }
    }
}
