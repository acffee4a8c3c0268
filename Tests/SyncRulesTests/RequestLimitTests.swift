import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// How much a request may ask for (service 3.11).
struct RequestLimitTests {
    private func rows(_ count: Int, from first: Int = 0) -> [[ScalarValue]] {
        (first..<first + count).map { [ScalarValue.integer(Int64($0))] }
    }

    private func list(_ count: Int) -> String { "[\((0..<count).map(String.init).joined(separator: ","))]" }

    private static let lookup = Querier(
        source: 0, stages: [.lookup(0, keys: [[.auth("sub")]], filters: [])], keys: [[.output(0)]])
    private static let elements = Querier(
        source: 1, stages: [.elements(.connection("list"), filters: [])], keys: [[.value(0)]])

    private func refusal(_ rig: inout RequestRig) -> RequestError? {
        do throws(RequestError) {
            _ = try rig.resolve()
            return nil
        } catch {
            return error
        }
    }

    @Test func asManyBucketsAsAllowedAreFound() throws {
        let plan = SyncPlan.of([[Self.lookup], [Self.elements, Querier(source: 2)]])
        let limits = RequestLimits(buckets: 6, results: 100)
        var rig = try RequestRig(plan, connection: #"{"list":[1,2,3]}"#, limits: limits)
        rig.rows = [.of(0, "u1"): rows(2)]
        #expect(try rig.resolve().buckets.count == 6)
        rig.rows = [.of(0, "u1"): rows(3)]
        let error = refusal(&rig)
        #expect(error?.message == "Too many buckets: 7 (limit of 6)")
        #expect(error?.details == ["Buckets by sync stream:", "  s1: 4", "  s0: 3"])
    }

    /// A bucket that is found in several ways is one, and counts for each of its streams.
    @Test func bucketsOfOneNameAreOne() throws {
        let plan = SyncPlan.of([[Self.lookup], [Self.lookup]], edition: 1, isLegacy: true)
        var rig = try RequestRig(plan, limits: RequestLimits(buckets: 3))
        rig.rows = [.of(0, "u1"): rows(3)]
        #expect(try rig.resolve().buckets.count == 3)
        rig.rows = [.of(0, "u1"): rows(4)]
        let error = refusal(&rig)
        #expect(error?.details == ["Buckets by bucket definition:", "  s0: 4", "  s1: 4"])
    }

    @Test func rowsAndElementsAreCountedTogether() throws {
        let plan = SyncPlan.of([[Self.lookup], [Self.elements]])
        let limits = RequestLimits(buckets: 100, results: 5)
        var rig = try RequestRig(plan, connection: #"{"list":[1,2,3]}"#, limits: limits)
        rig.rows = [.of(0, "u1"): rows(2)]
        #expect(try rig.resolve().buckets.count == 5)
        // A change that finds more is over the limit, too.
        rig.rows = [.of(0, "u1"): rows(3)]
        let error = refusal(&rig)
        #expect(error?.message == "Too many parameter query results (limit of 5)")
        #expect(error?.details == ["Parameter query results by sync stream:", "  s0: 3", "  s1: 3"])
        var many = try RequestRig(plan, connection: #"{"list":\#(list(6))}"#, limits: limits)
        let other = refusal(&many)
        #expect(other?.message == "Too many parameter query results (limit of 5)" && many.asked.isEmpty)
    }

    @Test func keysOfOneReadHaveALimit() throws {
        let stages: [Stage] = [
            .elements(.connection("list"), filters: []), .elements(.connection("list"), filters: []),
            .lookup(0, keys: [[.value(0)], [.value(1)]], filters: []),
        ]
        let plan = SyncPlan.of([[Querier(source: 0, stages: stages)]])
        let limits = RequestLimits(results: 8)
        var rig = try RequestRig(plan, connection: #"{"list":\#(list(3))}"#, limits: limits)
        let error = refusal(&rig)
        #expect(
            error?.message == "Attempted to fetch 9 lookups at once, a maximum of 8 lookups are allowed.")
        #expect(rig.asked.isEmpty)
        var few = try RequestRig(plan, connection: #"{"list":\#(list(2))}"#, limits: limits)
        let none = refusal(&few)
        #expect(none == nil && few.asked.map(\.count) == [4])
    }

    /// 100³ combinations are refused before they are made.
    @Test func combinationsAreCountedBeforeTheyAreMade() throws {
        let stages = Array(repeating: Stage.elements(.connection("list"), filters: []), count: 3)
        let plan = SyncPlan.of([[Querier(source: 0, stages: stages, keys: [[.value(0)]])]])
        var rig = try RequestRig(plan, connection: #"{"list":\#(list(100))}"#)
        let error = refusal(&rig)
        #expect(error?.message == "Too many parameter query results (limit of 1000)")
    }

    /// A small request has thousands of subscriptions that ask for one long parameter each.
    @Test func namesKeysAndFailuresHaveALimitInBytes() throws {
        let long = String(repeating: "x", count: 400_000)
        let subscriptions = (0..<3000).map { number in
            StreamSubscription(
                stream: "s0", parameters: .object([JSONMember("p", .string(String(number)))]))
        }
        let keys: [[Expression]] = [[.connection("long")], [.subscription("p")]]
        let queriers = [
            Querier(source: 0, keys: keys),
            Querier(source: 0, stages: [.lookup(0, keys: keys, filters: [])]),
        ]
        for querier in queriers {
            var rig = try RequestRig(
                .of([[querier]]), connection: #"{"long":"\#(long)"}"#, subscriptions: subscriptions)
            let error = refusal(&rig)
            #expect(error?.message == "Too many buckets: names of more than 1048576 bytes")
            #expect(rig.asked.isEmpty)
        }
        // Nor does one subscription with many elements make all of them first.
        let elements = Stage.elements(.connection("list"), filters: [])
        let both: [[Expression]] = [[.connection("long")], [.value(0)]]
        let connection = #"{"long":"\#(long)","list":\#(list(1000))}"#
        for querier in [
            Querier(source: 0, stages: [elements], keys: both),
            Querier(source: 0, stages: [elements, .lookup(0, keys: both, filters: [])]),
        ] {
            var rig = try RequestRig(.of([[querier]]), connection: connection)
            let error = refusal(&rig)
            #expect(error?.message == "Too many buckets: names of more than 1048576 bytes")
            #expect(rig.asked.isEmpty)
        }
        let failing = Querier(source: 0, stages: [.elements(.connection("long"), filters: [])])
        var few = try RequestRig(
            .of([[failing]]), connection: #"{"long":"x"}"#, subscriptions: subscriptions)
        #expect(try few.resolve().failures.count == 3001)
        let limits = RequestLimits(nameBytes: 10_000)
        var many = try RequestRig(
            .of([[failing]]), connection: #"{"long":"x"}"#, subscriptions: subscriptions, limits: limits)
        let error = refusal(&many)
        #expect(error?.message == "Too many buckets: names of more than 10000 bytes")
    }

    /// Subscriptions that find nothing take memory as long as the stream, too, and each of their keys a look into the store.
    @Test(arguments: ["p", "none"])
    func queriersOfAllSubscriptionsHaveALimit(_ parameter: String) throws {
        func subscriptions(_ count: Int) -> [StreamSubscription] {
            (0..<count).map { number in
                StreamSubscription(
                    stream: "s0", parameters: .object([JSONMember("p", .string(String(number)))]))
            }
        }
        let limits = RequestLimits(results: 3)
        #expect(limits.keys == 30)
        let stage = Stage.lookup(0, keys: [[.subscription(parameter)]], filters: [])
        let plan = SyncPlan.of(
            [[Querier(source: 0, stages: [stage], keys: [[.output(0)]])]], isDefault: false)
        var few = try RequestRig(plan, subscriptions: subscriptions(30), limits: limits)
        for _ in 0..<2 {
            #expect(try few.resolve().buckets.isEmpty)
            #expect(few.asked.map(\.count) == (parameter == "p" ? [30] : []))
        }
        var many = try RequestRig(plan, subscriptions: subscriptions(31), limits: limits)
        let error = refusal(&many)
        #expect(error?.message == "Too many parameter queries (limit of 30)")
        #expect(many.asked.isEmpty)
    }

    /// A few elements are many keys where lists are multiplied.
    @Test func keysOfAllQueriersHaveALimit() throws {
        let lists = Array(repeating: Stage.elements(.connection("list"), filters: []), count: 8)
        let keys: [[Expression]] = (0..<8).map { [.value($0)] }
        let querier = Querier(source: 0, stages: lists + [.lookup(0, keys: keys, filters: [])])
        func rig(_ count: Int) throws -> RequestRig {
            try RequestRig(
                .of([Array(repeating: querier, count: count)]), connection: #"{"list":[0,1]}"#,
                limits: RequestLimits(results: 400))
        }
        var few = try rig(15)
        #expect(try few.resolve().buckets.isEmpty)
        #expect(few.asked.map(\.count) == [256])
        var many = try rig(16)
        let error = refusal(&many)
        #expect(error?.message == "Too many parameter queries (limit of 4000)")
        #expect(many.asked.isEmpty)
    }

    // MARK: Work

    private static let tooMuchWork = "Too much work for parameter queries (limit of 100000 bytes)"

    private func subscriptions(_ count: Int, _ parameter: JSON) -> [StreamSubscription] {
        (0..<count).map { _ in
            StreamSubscription(stream: "s0", parameters: .object([JSONMember("p", parameter)]))
        }
    }

    /// A small request has many subscriptions that look for one value each in a long list.
    @Test func aListThatManySubscriptionsLookIntoIsReadOnce() throws {
        let gate = Expression.contains(list: .connection("list"), .subscription("p"))
        let plan = SyncPlan.of([[Querier(source: 0, gates: [gate])]], isDefault: false)
        // 20,000 bytes; 200 times that are four million.
        let connection = #"{"list":\#(list(4_000))}"#
        for (value, reasons) in [(3_999, 200), (4_000, 0)] {
            var rig = try RequestRig(
                plan, connection: connection, subscriptions: subscriptions(200, .number(String(value))),
                limits: RequestLimits(work: 200_000))
            #expect(try rig.resolve().buckets.map(\.reasons.count).reduce(0, +) == reasons)
        }
    }

    /// All queriers of all subscriptions have one limit of what they look at, whether or not anything comes of it.
    @Test func whatSubscriptionsLookAtHasALimit() throws {
        let gate = Expression.overlaps(.connection("list"), .subscription("p"))
        let elements = Stage.elements(.connection("one"), filters: [gate])
        let lookup = Stage.lookup(0, keys: [[.auth("sub")]], filters: [gate])
        for querier in [
            Querier(source: 0, gates: [gate]), Querier(source: 0, stages: [elements]),
            Querier(source: 0, stages: [elements, elements, lookup]),
        ] {
            func message(_ count: Int) throws -> String? {
                var rig = try RequestRig(
                    .of([[querier]], isDefault: false), connection: #"{"list":\#(list(1_000)),"one":[1]}"#,
                    subscriptions: subscriptions(count, .array([.number("-1")])),
                    limits: RequestLimits(work: 100_000))
                return refusal(&rig)?.message
            }
            #expect(try message(2) == nil)
            #expect(try message(100) == Self.tooMuchWork)
        }
    }

    /// A row that is found costs a look at a long value, each.
    @Test func whatRowsAreComparedWithHasALimit() throws {
        let filter = Expression.overlaps(.connection("list"), .output(0))
        let stage = Stage.lookup(0, keys: [[.auth("sub")]], filters: [filter])
        let plan = SyncPlan.of([[Querier(source: 0, stages: [stage])]])
        var rig = try RequestRig(
            plan, connection: #"{"list":\#(list(1_000))}"#, limits: RequestLimits(work: 100_000))
        let row = [ScalarValue(text: "[-1]")]
        rig.rows = [.of(0, "u1"): Array(repeating: row, count: 10)]
        // What one evaluation has cost is none of the next one's.
        for _ in 0..<20 { #expect(try rig.resolve().buckets.isEmpty) }
        rig.rows = [.of(0, "u1"): Array(repeating: row, count: 100)]
        let error = refusal(&rig)
        #expect(error?.message == Self.tooMuchWork)
    }
}
