import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// The order of keys.
struct KeyOrderTests {
    private func sorted(_ keys: [Expression]) -> [Expression] { KeyOrder.sorted(keys) { $0 } }

    @Test func columnsAreSortedByNameFromTheLastToTheFirst() {
        // service 5
        let names = ["id", "owner_id", "region", "org", "team_id", "role", "c1", "c2", "\u{E9}", "e"]
        let expected = ["\u{E9}", "team_id", "role", "region", "owner_id", "org", "id", "e", "c2", "c1"]
        #expect(sorted(names.map(PlanParts.column)) == expected.map(PlanParts.column))
        // Whatever row they are of.
        let other = Expression.column(.row(5), ExactText("b"))
        #expect(sorted([PlanParts.column("a"), other, PlanParts.column("c")])[1] == other)
    }

    @Test func theOrderIsThatOfTheExpressionsAlone() {
        let none = Expression.literal(.null)
        let keys: [Expression] = [
            PlanParts.column("a"), PlanParts.element(0), PlanParts.element(1), .element(.element(0), .key),
            .call(.lower, [PlanParts.column("a")]), .call(.upper, [PlanParts.column("a")]),
            .call(.lower, [PlanParts.column("b")]), .cast(.text, PlanParts.column("a")),
            .cast(.integer, PlanParts.column("a")), .table(.schema, .row(0)), .table(.suffix, .row(0)),
            .literal(.null), .literal(ScalarValue(text: "a")), .literal(ScalarValue(text: "ab")),
            .literal(.integer(1)), .literal(.real(1)), .literal(.blob([1])),
            .concat(PlanParts.column("a"), PlanParts.column("b")),
            .concat(PlanParts.column("ab"), PlanParts.column("")),
            .member(PlanParts.column("a"), .literal(ScalarValue(text: "b")), .json),
            .member(PlanParts.column("a"), .literal(ScalarValue(text: "b")), .value),
            .arithmetic(.add, PlanParts.column("a"), PlanParts.column("b")),
            .not(PlanParts.column("a")), .isNull(PlanParts.column("a")), .isTrue(PlanParts.column("a"), true),
            .isTrue(PlanParts.column("a"), false), PlanParts.isText("a", "b"),
            .choice(
                base: PlanParts.column("a"), [Expression.Branch(when: none, then: none)], otherwise: nil),
            .choice(
                base: nil, [Expression.Branch(when: PlanParts.column("a"), then: none)], otherwise: none),
            .and([PlanParts.column("a"), PlanParts.column("b")]),
            .or([PlanParts.column("a"), PlanParts.column("b")]), PlanParts.user,
            PlanParts.call(.connection, "sub"), PlanParts.call(.auth, "$.sub.x"), .request(.auth),
        ]
        let order = sorted(keys)
        #expect(order.first == PlanParts.column("a") && Set(order).count == keys.count)
        #expect(sorted(keys.reversed()) == order)
        for shift in 1..<keys.count { #expect(sorted(Array(keys[shift...] + keys[..<shift])) == order) }
    }

    @Test func equalOnesStayAsTheyAre() {
        let keys = [("b", 0), ("a", 1), ("b", 2), ("a", 3)]
        let order = KeyOrder.sorted(keys) { PlanParts.column($0.0) }
        #expect(order.map { $0.1 } == [0, 2, 1, 3])
    }
}
