import Foundation
import PowerSyncCommandLine
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncMockService
@testable import PowerSyncPostgresSource
@testable import PowerSyncServiceEngine

/// The file of the state, and what takes its place (service 7.8).
@Suite(.patient())
struct StateFileTests {
    /// A state that has told a client an id, in a folder of its own.
    private static func withState(
        _ body: (_ file: StateFile, _ opener: StateOpener) async throws -> Void
    ) async throws {
        let folder = try TemporaryDirectory(prefix: "state-file-")
        defer { folder.remove() }
        let poller = try Poller()
        defer { poller.stop() }
        let file = try StateFile("\(folder.path)/state.db")
        try await ServiceStore.open(path: file.path, readers: 1).close()
        let state = try SQLiteConnection(path: file.path)
        try state.execute("INSERT INTO write_checkpoint(key, id, head) VALUES ('k', 7, 0)")
        state.close()
        let configuration = MockServiceConfiguration(
            source: SourceDatabase(uri: "postgresql://127.0.0.1/none"), statePath: file.path, syncConfig: "")
        let opener = StateOpener(
            configuration: configuration, poller: poller, log: Log(label: "test", level: .error) { _ in },
            clock: .system(poller))
        try await body(file, opener)
    }

    /// The id that the client was told, as the state of now knows it.
    private static func toldID(_ file: StateFile) throws -> Int64? {
        let state = try SQLiteConnection(path: file.path)
        defer { state.close() }
        return try state.one("SELECT id FROM write_checkpoint WHERE key = 'k'") { $0.int64(0) }
    }

    /// What clients were told, and what the source keeps for it; ids of operations go on, too.
    @Test(arguments: 2...5) func whatAFormerVersionHasToldIsKnown(version: Int) async throws {
        try await Self.withState { file, opener in
            try FileManager.default.removeItem(atPath: file.path)
            try FormerVersions.make(file.path, version: version) { connection in
                try connection.execute(
                    """
                    UPDATE counter SET last_op = 77;
                    INSERT INTO source(one, system_id, timeline, database_oid, address) VALUES (1, '7', 1, 5, 'a');
                    INSERT INTO replication_stream(id, config_hash, config, publication, slot, state)
                        VALUES (3, 'hash', 'text', 1, 'slot_3', 'active');
                    INSERT INTO write_checkpoint(key, id, head) VALUES ('k', 7, 0);
                    """)
            }
            let error = await #expect(throws: StoreError.self) {
                try await ServiceStore.open(path: file.path, readers: 1)
            }
            #expect(error?.message == "The state has version \(version), this service writes version 6.")
            try await opener.setAside(file, because: error?.message)
            #expect(try Self.toldID(file) == 7)
            let store = try await ServiceStore.open(path: file.path, readers: 1)
            #expect(try await store.source()?.systemID == "7")
            #expect(try await store.stoppedSlots() == ["slot_3"])
            #expect(try await store.activeStream() == nil)
            let next = try await store.addStream(config: "", configHash: "hash", publication: 1) { _ in "" }
            #expect(next.number == 4)
            await store.close()
            #expect(try StoreCheck(path: file.path).lastOperation == 77)
        }
    }

    /// Each has a cache and a thread of its own.
    @Test(arguments: [(10, 4), (4, 4), (2, 2)])
    func asManyConnectionsReadAsStreamsMayAndFourAtMost(wanted: Int, readers: Int) async throws {
        try await Self.withState { file, opener in
            var configuration = opener.configuration
            configuration.maxDataFetchConcurrency = wanted
            let other = StateOpener(
                configuration: configuration, poller: opener.poller, log: opener.log, clock: opener.clock)
            let state = try await other.open(file)
            let count = try await state.store.pool.all { _, connections in connections.count }
            await state.store.close()
            #expect(count == readers)
        }
    }

    @Test func aStateThatCannotBeReadForAMomentIsNotForgotten() async throws {
        try await Self.withState { file, opener in
            let other = try SQLiteConnection(path: file.path)
            // Keeps readers out, too.
            try other.execute("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE")
            let error = await #expect(throws: SQLiteError.self) { try await opener.setAside(file) }
            #expect(error?.code == .busy)
            try other.execute("ROLLBACK")
            other.close()
            try await opener.setAside(file)
            #expect(try Self.toldID(file) == 7)
        }
    }

    @Test func aFileThatIsNoStateIsSetAside() async throws {
        try await Self.withState { file, opener in
            try String(repeating: "no database ", count: 1000)
                .write(toFile: file.path, atomically: false, encoding: .utf8)
            try await opener.setAside(file)
            #expect(try Self.toldID(file) == nil)
        }
    }

    /// The state had been renamed and its successor not yet.
    @Test func aReplacementThatWasBrokenOffIsCompletedByTheNextAttempt() async throws {
        try await Self.withState { file, opener in
            try FileManager.default.moveItem(atPath: file.path, toPath: file.successor)
            try await opener.setAside(file)
            #expect(try Self.toldID(file) == 7)
            #expect(!FileManager.default.fileExists(atPath: file.successor))
        }
    }

    /// The link is there before the file.
    @Test(arguments: ["link.db", "folder/link.db"])
    func aLinkToAStateIsTheSameState(name: String) async throws {
        let folder = try TemporaryDirectory(prefix: "state-file-")
        defer { folder.remove() }
        let path = "\(folder.path)/state.db"
        let manager = FileManager.default
        try manager.createSymbolicLink(
            atPath: "\(folder.path)/link.db", withDestinationPath: "folder/state.db")
        try manager.createSymbolicLink(atPath: "\(folder.path)/folder", withDestinationPath: ".")
        let file = try StateFile("\(folder.path)/\(name)")
        let error = #expect(throws: StoreError.self) { _ = try StateFile(path) }
        #expect(error?.message.hasPrefix("[PSYNC_S1003] The state \(path) is in use") == true)
        // What is opened and renamed is the file, not the link.
        try await ServiceStore.open(path: file.path, readers: 1).close()
        let kind = try manager.attributesOfItem(atPath: file.path)[.type] as? FileAttributeType
        #expect(kind == .typeRegular && manager.fileExists(atPath: path))
    }
}
