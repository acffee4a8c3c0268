import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// Values and how they compare (service 6.12).
struct ScalarValueTests {
    private func wide(_ digits: String) throws -> ScalarValue { try #require(ScalarValue(digits: digits)) }

    @Test(arguments: [
        ("0", ScalarValue.integer(0)), ("-0", .integer(0)), ("007", .integer(7)),
        ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
        ("000009223372036854775807", .integer(.max)),
    ])
    func digitsThatFitAreAnInteger(_ digits: String, _ value: ScalarValue) {
        #expect(ScalarValue(digits: digits) == value)
        #expect(WideInteger(digits: digits) == nil)
    }

    @Test(arguments: [
        ("9223372036854775808", "9223372036854775808"), ("-9223372036854775809", "-9223372036854775809"),
        ("00123456789012345678901234567890", "123456789012345678901234567890"),
    ])
    func digitsThatDoNotFitAreWide(_ digits: String, _ spelled: String) throws {
        let integer = try #require(WideInteger(digits: digits))
        #expect(integer.digits == ExactText(spelled))
        #expect(ScalarValue(digits: digits) == .wide(integer))
    }

    @Test(arguments: ["", "-", "+1", "1.0", "1e3", " 1", "1 ", "٣", "--99999999999999999999"])
    func otherTextsAreNoInteger(_ text: String) { #expect(ScalarValue(digits: text) == nil) }

    @Test func integersOfAnySizeAreInOrder() throws {
        let ascending: [ScalarValue] = [
            .real(-.infinity), .real(-1e300), try wide("-99999999999999999999"),
            try wide("-9999999999999999999"), .integer(.min), .real(-0.5), .integer(0), .integer(.max),
            .real(0x1p63), try wide("9223372036854775809"), .real(1e19), try wide("10000000000000000001"),
            try wide("99999999999999999999"), .real(1e20), .real(1e300), .real(.infinity), .init(text: ""),
            .blob([]),
        ]
        for (left, one) in ascending.enumerated() {
            for (right, other) in ascending.enumerated() where left != right {
                let expected: ScalarOrder = left < right ? .before : .behind
                #expect(try ScalarOrder.compare(one, other) == expected, "\(one) and \(other)")
            }
        }
        #expect(try ScalarOrder.compare(.real(0x1p63), try wide("9223372036854775808")) == .same)
        #expect(try ScalarOrder.compare(.real(-1e22), try wide("-10000000000000000000000")) == .same)
        #expect(try ScalarOrder.compare(.real(.nan), try wide("9223372036854775808")) == .incomparable)
        #expect(try ScalarOrder.compare(.null, try wide("9223372036854775808")) == nil)
        #expect(throws: EvaluationError.self) { try ScalarOrder.compare(.blob([1]), .blob([1])) }
    }

    @Test(arguments: [
        (0x1p63, "9223372036854775808"), (-0x1p64, "-18446744073709551616"),
        (1e22, "10000000000000000000000"),
        (0x1p200, "1606938044258990275541962092341162602522202993782792835301376"),
    ])
    func doublesBeyond64BitsHaveAllTheirDigits(_ value: Double, _ digits: String) {
        #expect(WideInteger(wholeNumber: value)?.digits == ExactText(digits))
        #expect(WideInteger(wholeNumber: value)?.real == value)
    }

    @Test(arguments: [0.0, 1e18, -0x1p63, Double.infinity, -Double.infinity, Double.nan])
    func otherDoublesAreNotWide(_ value: Double) { #expect(WideInteger(wholeNumber: value) == nil) }

    @Test func textsAreEqualByTheirBytes() {
        #expect(ScalarValue(text: "é") != ScalarValue(text: "e\u{301}"))
        #expect(ScalarValue(text: "é") == ScalarValue(text: "\u{E9}"))
    }

    @Test(arguments: Comparison.allCases)
    func nothingButOtherHoldsForWhatCannotBeCompared(_ comparison: Comparison) {
        #expect(comparison.holds(.incomparable) == (comparison == .notEqual))
    }

    @Test(arguments: [
        (Comparison.equal, [false, true, false]), (.notEqual, [true, false, true]),
        (.less, [true, false, false]), (.lessOrEqual, [true, true, false]),
        (.greater, [false, false, true]), (.greaterOrEqual, [false, true, true]),
    ])
    func comparisonsHoldByOrder(_ comparison: Comparison, _ expected: [Bool]) {
        #expect([ScalarOrder.before, .same, .behind].map(comparison.holds) == expected)
    }
}
