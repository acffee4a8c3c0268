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
}
