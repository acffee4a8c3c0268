import Testing

@testable import PowerSyncSyncRules

/// In how many ways the values of a key agree.
struct KeyWaysTests {
    /// A request takes them of the plan: to find them costs the square of a key's values.
    @Test func aPlanHasTheWaysOfItsQueriers() {
        let lookup = Stage.lookup(0, keys: [[.auth("sub")]], filters: [])
        let both = Stage.lookup(0, keys: [[.output(0), .output(1)]], filters: [])
        let one = Querier(source: 0, stages: [lookup, lookup], keys: [[.output(0)], [.output(1)]])
        #expect(one.stageWays == [[], []] && one.nameWays.isEmpty)
        let name = Querier(source: 0, stages: [lookup, lookup], keys: [[.output(0), .output(1)]])
        #expect(name.stageWays == [[], []])
        #expect(name.nameWays == [KeyWays(own: [[0], [1]])])
        let key = Querier(source: 0, stages: [lookup, lookup, both], keys: [[.output(2)]])
        #expect(key.stageWays == [[], [], [KeyWays(own: [[0], [1]])]])
        #expect(key.nameWays.isEmpty)
    }
}
