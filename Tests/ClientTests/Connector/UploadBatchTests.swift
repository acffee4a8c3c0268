import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// What goes into one upload (backend 1.8, 1.9).
@Suite(.patient()) struct UploadBatchTests {
    private func batch(_ rig: BackendRig, atMost limit: Int = UploadBatchSize.most) async throws -> [Int] {
        try await UploadBatch.oldest(of: rig.test.database, atMost: limit).transactions.map(\.crud.count)
    }

    /// Queues a transaction whose texts have so many bytes each.
    private func queue(_ rig: BackendRig, texts: Int = 1, bytes: Int) async throws {
        try await rig.test.database.writeTransaction { transaction in
            for _ in 0..<texts {
                try transaction.execute(
                    sql: "INSERT INTO users (id, name) VALUES (uuid(), ?)",
                    parameters: [String(repeating: "x", count: bytes)])
            }
        }
    }

    @Test func noMoreTransactionsGoThanTheBackendTakes() async throws {
        let rig = try BackendRig()
        #expect(try await batch(rig) == [])
        try await rig.queueAtOnce(120, inTransactionsOf: 2)
        #expect(try await batch(rig) == Array(repeating: 2, count: 50))
        #expect(try await batch(rig, atMost: 3) == [2, 2, 2])
    }

    @Test(arguments: [(250, 4), (300, 3), (1_000, 1), (600, 1), (999, 1)])
    func noMoreChangesGoThanAThousand(_ size: Int, _ count: Int) async throws {
        let rig = try BackendRig()
        try await rig.queueAtOnce(size * 6, inTransactionsOf: size)
        #expect(try await batch(rig) == Array(repeating: size, count: count))
    }

    @Test func aTransactionBeyondTheBoundsGoesAlone() async throws {
        let rig = try BackendRig()
        try await rig.queueAtOnce(5_000, inTransactionsOf: 2_500)
        #expect(try await batch(rig) == [2_500])
        let large = try BackendRig()
        try await queue(large, bytes: 3 << 20)
        try await queue(large, bytes: 1)
        #expect(try await batch(large) == [1])
    }

    @Test func noMoreBytesGoThanAMegabyte() async throws {
        let rig = try BackendRig()
        for _ in 0..<5 { try await queue(rig, texts: 2, bytes: 200_000) }
        #expect(try await batch(rig) == [2, 2])
        // A large one is not taken in behind a small one either.
        let mixed = try BackendRig()
        try await queue(mixed, bytes: 1)
        try await queue(mixed, bytes: 2 << 20)
        #expect(try await batch(mixed) == [1])
    }

    @Test func aSmallerNumberGrowsBackMinuteByMinute() {
        var size = UploadBatchSize()
        #expect(size.transactions(at: .seconds(5)) == 50)
        let half = size.refused(50, at: .seconds(100))
        #expect(half == 25)
        #expect(size.transactions(at: .seconds(159)) == 25)
        #expect(size.transactions(at: .seconds(160)) == 50)
        let one = size.refused(3, at: .seconds(200))
        #expect(one == 1)
        let least = size.refused(1, at: .seconds(200))
        #expect(least == 1)
        let minutes = (0...7).map { size.transactions(at: .seconds(200 + 60 * $0)) }
        #expect(minutes == [1, 2, 4, 8, 16, 32, 50, 50])
    }

    @Test(
        arguments: [
            ("0", 0), ("17", 17), ("Sat, 01 Mar 2025 10:01:00 GMT", 60),
            ("Sat, 01 Mar 2025 09:59:00 GMT", -60), ("", nil), ("-1", nil), ("1.5", nil), ("soon", nil),
        ] as [(String, Int?)])
    func aPauseIsReadInSecondsOrAsADate(_ text: String, _ seconds: Int?) {
        #expect(
            BackendPause.delay(text, now: SteppedClock.start) == seconds.map { Duration.seconds($0) })
    }
}
