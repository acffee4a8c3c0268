import PowerSyncSyncRules
import Testing

struct SlotTests {
    private let values: [ScalarValue] = [
        .null, .integer(.min), .integer(5), .real(-0.5), .init(text: "é"), .init(text: ""), .blob([0, 255]),
        .blob([]), ScalarValue(digits: "-9223372036854775809") ?? .null,
        ScalarValue(digits: "123456789012345678901234567890") ?? .null,
    ]

    @Test func slotsKeepTheirValues() {
        var arena: [UInt8] = []
        let slots = values.map { Slot(scalar: $0, in: &arena) }
        #expect(slots.map { $0.scalar(in: arena) } == values)
        #expect(slots.map(\.kind).suffix(2) == [.wide, .wide])
        let later = Array("later".utf8) + arena
        #expect(slots.map { $0.moved(by: 5).scalar(in: later) } == values)
    }

    @Test func aWideIntegerIsTrueAndSpelledWithItsDigits() throws {
        var arena = Array("before".utf8)
        let slot = Slot(scalar: try #require(ScalarValue(digits: "-9223372036854775809")), in: &arena)
        arena += Array("0".utf8)
        #expect(slot.holds(in: arena))
        var text: [UInt8] = []
        RowTextWriter.appendKey(slot, in: arena, to: &text)
        #expect(String(decoding: text, as: UTF8.self) == "-9223372036854775809")
    }

    /// Names of buckets and keys of lookups take equal numbers for the same, and no others (service 5, 6.9).
    @Test(
        arguments: [
            (314.0, "314"), (-0.0, "0"), (0.1, "0.1"), (0x1p53 + 2, "9007199254740994"),
            (-0x1p63, "-9223372036854775808"), (0x1p63, "9223372036854775808"),
            (1e21, "1000000000000000000000"),
            (.infinity, "Infinity"), (.nan, nil),
        ] as [(Double, String?)])
    func keysOfDoublesAreThoseOfTheirIntegers(_ value: Double, _ name: String?) throws {
        #expect(BucketSpelling.text(.real(value)) == name)
        #expect((ScalarValue.real(value).keyValue == nil) == value.isNaN)
        guard let name else { return }
        if let integer = ScalarValue(digits: name) {
            #expect(BucketSpelling.text(integer) == name && ScalarValue.real(value).keyValue == integer)
        }
        var arena: [UInt8] = []
        var text: [UInt8] = []
        RowTextWriter.appendKey(Slot(scalar: .real(value), in: &arena), in: arena, to: &text)
        #expect(String(decoding: text, as: UTF8.self) == name)
    }
}
