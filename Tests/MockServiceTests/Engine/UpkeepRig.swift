import Foundation
import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncServiceEngine

/// A store with its upkeep, on a clock that stands still until it is moved.
struct UpkeepRig {
    /// From three small segments on they are merged.
    static let limits: StoreLimits = {
        var limits = StoreLimits()
        limits.smallSegments = 3
        return limits
    }()

    let fixture: StoreFixture
    let clock = ManualClock(0)
    let upkeep: StoreUpkeep
    private let logged: Lock<[String]>

    /// Runs a test with the stream of the fixture as the one that is served.
    static func run(
        _ limits: StoreLimits = Self.limits, readers: Int = 4, _ body: (UpkeepRig) async throws -> Void
    ) async throws {
        try await StoreFixture.withFolder { path in
            let rig = try await UpkeepRig(path: path, limits, readers: readers)
            try await body(rig)
            try await rig.fixture.close()
        }
    }

    private init(path: String, _ limits: StoreLimits, readers: Int) async throws {
        let fixture = try await StoreFixture(path: path, readers: readers, limits: limits)
        let logged = Lock<[String]>([])
        let log = Log(label: "test") { line in logged.withLock { $0.append(line) } }
        self.fixture = fixture
        self.logged = logged
        let stream = fixture.stream.number
        upkeep = StoreUpkeep(fixture.store, clock: clock.clock, log: log, served: { stream })
    }

    var store: ServiceStore { fixture.store }

    /// The lines of the log.
    var log: [String] { logged.withLock { $0 } }

    /// Calls a body while the upkeep runs, and waits for its end.
    func running(_ body: () async throws -> Void) async throws {
        let task = Task { [upkeep] in await upkeep.run() }
        do {
            try await body()
        } catch {
            task.cancel()
            await task.value
            throw error
        }
        task.cancel()
        await task.value
    }

    /// Commits rows one by one, each of which leaves a segment.
    func commit(_ ids: ClosedRange<Int>, owner: String = "u1", bytes: Int = 10) async throws {
        for id in ids {
            let text = PgOutputValue.text(String(repeating: "x", count: bytes))
            _ = try await fixture.apply(
                [.insert(StoreFixture.row("r\(id)", owner, text))], commit: UInt64(id))
        }
    }

    /// How many segments there are; the file is read, and nobody waited for.
    func segments() throws -> Int64 {
        let file = try SQLiteConnection(path: fixture.path, flags: .readOnly)
        defer { file.close() }
        return try file.one("SELECT count(*) FROM segment") { $0.int64(0) } ?? 0
    }

    /// The bytes of the write-ahead log.
    func logSize() throws -> Int { try size("-wal") }

    /// The bytes of the file.
    func fileSize() throws -> Int { try size("") }

    private func size(_ suffix: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: fixture.path + suffix)
        return (attributes[.size] as? NSNumber)?.intValue ?? 0
    }
}
