import PowerSyncWire
import Testing

@testable import PowerSyncSyncRules

/// What a request brings along (service 2.4), and what of an expression all its subscriptions share.
struct RequestSlotsTests {
    private func slots() throws -> RequestSlots {
        RequestSlots(
            token: try JSON.parse(#"{"sub":"u","n":7,"list":[1,2.5],"o":{"a":{"b":true}}}"#),
            connection: try JSON.parse(
                #"{"n":7,"r":7.0,"big":99999999999999999999,"list":["é","b"],"n":8}"#))
    }

    @Test(arguments: [
        (RequestParameter.Source.auth, "sub", ScalarValue(text: "u")), (.auth, "n", .real(7)),
        (.auth, "list", ScalarValue(text: "[1.0,2.5]")), (.auth, "$.o.a.b", .integer(1)),
        (.auth, "$.o.a", ScalarValue(text: #"{"b":true}"#)), (.auth, "o.a", .null), (.auth, "$.sub.x", .null),
        (.auth, "$.list.1", .real(2.5)), (.auth, "$.list.2", .null), (.auth, "$.list.01", .null),
        (.connection, "n", .integer(8)), (.connection, "r", .real(7)),
        (.connection, "$.list.0", ScalarValue(text: "é")),
        (.connection, "$.list.1.0", ScalarValue(text: "b")), (.connection, "sub", .null),
        (.subscription, "n", .null), (.subscription, "$", ScalarValue(text: "{}")),
    ])
    func aParameterIsAKeyOrAPath(
        _ source: RequestParameter.Source, _ argument: String, _ value: ScalarValue
    ) throws {
        #expect(try slots().value(of: RequestParameter(source, argument: argument)) == value)
    }

    @Test func sourcesAreJSONText() throws {
        let slots = try slots()
        let auth = #"{"sub":"u","n":7.0,"list":[1.0,2.5],"o":{"a":{"b":true}}}"#
        #expect(slots.text(of: .auth) == ScalarValue(text: auth))
        let big = slots.value(of: RequestParameter(.connection, argument: "big"))
        #expect(big == ScalarValue(digits: "99999999999999999999"))
        #expect(slots.text(of: .subscription) == ScalarValue(text: "{}"))
        let own = slots.with(subscription: try JSON.parse(#"{"a":1}"#))
        #expect(own.text(of: .subscription) == ScalarValue(text: #"{"a":1}"#))
        #expect(slots.with(subscription: .null).text(of: .subscription) == ScalarValue(text: "{}"))
    }

    /// One expression of each kind.
    private static let kinds: [Expression] = {
        let (one, two) = (Expression.auth("n"), Expression.subscription("p"))
        let branch = Expression.Branch(when: one, then: two)
        return [
            .literal(.null), .column(.row(0), ExactText("0")), .element(.element(0), .value), one,
            .request(.connection), .table(.name, .row(0)), .call(.upper, [one]), .cast(.text, one),
            .arithmetic(.add, one, two), .concat(one, two), .member(one, two, .value),
            .comparison(.less, one, two), .isSame(one, two), .isTrue(one, false), .and([one, two]),
            .or([one, two]), .not(one), .isNull(two), .between(one, two, one),
            .choice(base: one, [branch, branch], otherwise: two),
            .choice(base: nil, [branch], otherwise: nil),
            .oneOf(one, [two, one]), .contains(list: one, two), .overlaps(one, two),
        ]
    }()

    @Test func anExpressionWithItsOwnChildrenIsItself() {
        for kind in Self.kinds { #expect(kind.with(kind.children) == kind, "\(kind)") }
    }

    @Test func whatSubscriptionsShareIsComputedOnce() throws {
        let slots = try slots()
        let run = ExpressionRun(options: CompatibilityOptions(edition: 3))
        let shared = Expression.concat(.auth("sub"), .text("x"))
        #expect(run.folding(shared, slots) == .text("ux"))
        let own = Expression.comparison(.equal, .subscription("p"), shared)
        #expect(run.folding(own, slots) == .comparison(.equal, .subscription("p"), .text("ux")))
        #expect(run.folding(.request(.subscription), slots) == .request(.subscription))
        // What has no value is not shared: it is told to each.
        let failing = Expression.contains(list: .text("no JSON"), .text("a"))
        #expect(run.folding(failing, slots) == failing)
    }

    /// In no kind of expression is a part shared that a subscription changes.
    @Test func sharingChangesNoValue() throws {
        let slots = try slots()
        let run = ExpressionRun(options: CompatibilityOptions(edition: 3))
        for text in [#"{"p":3}"#, #"{"p":"[1]"}"#, "{}"] {
            let inputs = TupleInputs(slots: slots.with(subscription: try JSON.parse(text)), tuple: [])
            for kind in Self.kinds {
                // An error is the same error.
                let (plain, folded) = (
                    try? run.value(of: kind, in: inputs),
                    try? run.value(of: run.folding(kind, slots), in: inputs)
                )
                #expect(plain == folded, "\(kind) with \(text)")
            }
        }
    }

    @Test(arguments: [
        (ScalarValue.real(3), ScalarValue?.some(.integer(3))), (.real(2.5), .real(2.5)), (.real(.nan), nil),
        (.null, nil), (.blob([1]), nil), (ScalarValue(text: "3"), ScalarValue(text: "3")),
        (.real(1e22), ScalarValue(digits: "10000000000000000000000")), (.real(-.infinity), .real(-.infinity)),
    ])
    func keysAreNormal(_ value: ScalarValue, _ key: ScalarValue?) { #expect(value.keyValue == key) }
}
