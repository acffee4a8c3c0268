import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncServiceEngine

/// How much a store takes of memory and disk (DESIGN.md, 10).
@Suite(.enabled(if: TestOptions.hasDatabase))
struct StoreGrowthTests {
    /// An hour of mixed load, in a process of its own, whose memory is of nothing else.
    @Test(.patient(minutes: 60)) func memoryAndDiskLevelOut() async throws {
        try await ProcessTurn.take {
            await #expect(processExitsWith: .success) { try await StoreGrowthTests.playAnHour() }
        }
    }

    /// Five minutes at a time; behind the sixth of them a stream is left, as by another configuration.
    private static func playAnHour() async throws {
        let folder = try TemporaryDirectory(prefix: "store-growth-")
        defer { folder.remove() }
        let hour = try await GrowthHour(path: "\(folder.path)/state.db")
        var sizes: [GrowthHour.Size] = []
        for part in 1...12 {
            try await hour.play(seconds: 300)
            if part == 6 { try await hour.leaveStream() }
            try await hour.rest()
            try await hour.expectNothingIsLeft()
            let size = try await hour.size()
            #expect(size.disk * 2 <= Int64(size.operations) * 3, "part \(part): \(size)")
            sizes.append(size)
        }
        // Behind a third of it everything is there that is made once. What lies on the disk becomes three times as much, of
        // which memory keeps nothing; a third of it is for what malloc keeps.
        let (first, last) = (sizes[3], sizes[11])
        #expect(last.operations > 2 * first.operations)
        if !TestOptions.hasSanitizer {
            let grown = last.operations - first.operations
            #expect((last.memory - first.memory) * 3 <= grown, "\(first), then \(last)")
        }
        try await hour.end()
    }

    /// Rows of 300 bytes, in the order of their keys: the state takes less than one and a half times their data.
    @Test(.patient()) func aStateOfRowsTakesLessThanHalfAgainTheirData() async throws {
        var limits = StoreLimits()
        limits.freeBytes = 256 << 10
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path, limits: limits)
            let upkeep = StoreUpkeep(
                fixture.store, clock: ManualClock(0).clock, log: Log(label: "test") { _ in },
                served: { 1 })
            let text = String(repeating: "text", count: 64)
            for group in 0..<1000 {
                let rows = (0..<12).map { index in
                    let digits = String(10_000_000 + group * 12 + index)
                    return RowChange.insert(StoreFixture.row(digits, "u\(group % 10)", .text(text)))
                }
                _ = try await fixture.apply(rows, commit: UInt64(group + 1))
                if group % 50 == 0 { #expect(try await upkeep.work()) }
            }
            #expect(try await upkeep.work())
            #expect(try await fixture.store.pool.truncateLog())
            var data = 0
            for owner in 0..<10 {
                let operations = try await fixture.operations("u\(owner)")
                data += operations.reduce(0) { $0 + $1.utf8.count - "PUT 10000000 ".utf8.count }
            }
            #expect(data > 12_000 * 290)
            #expect(fixture.store.size() * 2 <= Int64(data) * 3, "\(fixture.store.size()) for \(data)")
            try await fixture.close()
        }
    }
}
