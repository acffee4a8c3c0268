import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// The types of expressions.
struct TypeInferenceTests {
    private static let inference = TypeInference(
        columns: [
            ExactText("n"): .integer, ExactText("r"): .real, ExactText("s"): .text, ExactText("b"): .blob,
            ExactText("both"): [.integer, .text],
        ])

    private static func column(_ name: String) -> Expression { .column(.row(0), ExactText(name)) }

    private static let n = column("n")
    private static let r = column("r")
    private static let s = column("s")
    private static let null = Expression.literal(.null)

    private static let table: [(Expression, ValueType)] = [
        (null, []), (.literal(.integer(1)), .integer), (.literal(.real(1)), .real),
        (.literal(ScalarValue(text: "a")), .text), (.literal(.blob([1])), .blob),
        (n, .integer), (column("b"), .blob), (column("both"), [.integer, .text]), (column("unknown"), .any),
        (.element(.element(0), .key), [.integer, .text]), (.element(.element(0), .value), .any),
        (.parameter(.userID), .any), (.request(.auth), .text), (.table(.suffix, .row(0)), .text),
        (.call(.upper, [n]), .text), (.call(.length, [s]), .integer), (.call(.uuidBlob, [s]), .blob),
        (.call(.pointX, [s]), .real), (.call(.unixepoch, []), [.integer, .real]),
        (.call(.jsonExtract, [s, s]), .any), (.call(.ifnull, [n, r, null]), [.integer, .real]),
        (.call(.ifnull, [n, n]), .integer), (.call(.iif, [s, n, r]), [.integer, .real]),
        (.cast(.text, n), .text), (.cast(.integer, s), .integer), (.cast(.numeric, s), [.integer, .real]),
        (.cast(.real, n), .real), (.cast(.blob, n), .blob),
        (.arithmetic(.add, n, n), .integer), (.arithmetic(.divide, n, n), .integer),
        (.arithmetic(.add, n, r), .real), (.arithmetic(.multiply, s, n), .real),
        (.arithmetic(.bitAnd, s, r), .integer), (.arithmetic(.remainder, r, n), .real),
        (.concat(n, n), .text), (.member(s, s, .json), .text), (.member(s, s, .value), .any),
        (.comparison(.less, s, s), .integer), (.isSame(s, s), .integer), (.isTrue(s, true), .integer),
        (.and([s]), .integer), (.or([s]), .integer), (.not(s), .integer), (.isNull(s), .integer),
        (.between(s, s, s), .integer), (.oneOf(s, [s]), .integer), (.contains(list: s, s), .integer),
        (.overlaps(s, s), .integer),
        (.choice(base: nil, [Expression.Branch(when: s, then: n)], otherwise: nil), .integer),
        (.choice(base: s, [Expression.Branch(when: n, then: r)], otherwise: s), [.real, .text]),
    ]

    @Test(arguments: table)
    func typesFollowFromTheParts(_ expression: Expression, _ type: ValueType) {
        #expect(Self.inference.type(of: expression) == type)
    }
}
