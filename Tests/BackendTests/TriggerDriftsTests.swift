import PowerSyncBackend
import PowerSyncWire
import Testing

/// From when on a name that triggers miss is missing for good.
struct TriggerDriftsTests {
    private let start = ContinuousClock.now
    private let put = TriggerDrifts.Work(table: "lists", kind: .put)
    private let patch = TriggerDrifts.Work(table: "lists", kind: .patch)
    private let other = TriggerDrifts.Work(table: "todos", kind: .put)

    private func misses(
        _ drifts: inout TriggerDrifts, _ work: Set<TriggerDrifts.Work>, _ state: String = "42P01",
        at minutes: [Int]
    ) -> [Bool] {
        minutes.map {
            drifts.isLasting(
                work, sqlstate: state, at: start + .seconds($0 * 60), grace: .seconds(600))
        }
    }

    @Test func whatIsMissedForTheWholeGraceLasts() {
        var drifts = TriggerDrifts()
        let seen = misses(&drifts, [put], at: [0, 5, 9, 10, 11])
        #expect(seen == [false, false, false, true, true])
    }

    @Test func whatWasMissedLongAgoWasAnotherIncident() {
        var drifts = TriggerDrifts()
        let seen = misses(&drifts, [put], at: [0, 9, 20, 29, 30])
        #expect(seen == [false, false, false, false, true])
    }

    @Test func aCommitOfTheSameKindEndsIt() {
        var drifts = TriggerDrifts()
        let before = misses(&drifts, [put], at: [0, 9])
        drifts.end([patch, other])
        let between = misses(&drifts, [put], at: [10])
        drifts.end([put])
        let after = misses(&drifts, [put], at: [11, 20, 21])
        #expect(before + between + after == [false, false, true, false, false, true])
    }

    @Test func eachStateAndKindIsAnIncidentOfItsOwn() {
        var drifts = TriggerDrifts()
        let first = misses(&drifts, [put], at: [0, 9])
        let state = misses(&drifts, [put], "42703", at: [10])
        let kind = misses(&drifts, [patch], at: [10])
        let table = misses(&drifts, [other], at: [10])
        #expect(first + state + kind + table == [false, false, false, false, false])
    }

    /// At COMMIT it may have been any of them, so each must have missed it for so long.
    @Test func ofSeveralTheYoungestCounts() {
        var drifts = TriggerDrifts()
        let alone = misses(&drifts, [put], at: [0, 9])
        let both = misses(&drifts, [put, other], at: [10, 19, 20])
        let none = misses(&drifts, [], at: [30, 60])
        #expect(alone + both + none == [false, false, false, false, true, false, false])
    }

    @Test func anotherCatalogEndsAll() {
        var drifts = TriggerDrifts()
        let before = misses(&drifts, [put], at: [0, 9])
        drifts.endAll()
        let after = misses(&drifts, [put], at: [10])
        #expect(before + after == [false, false, false])
    }
}
