import PowerSyncStack
import PowerSyncWire
import Testing

@Suite struct BSONTypesTests {
    /// `{"a": [{"n": 1}], "s": "x", "no": null, "b": true}` with the number in one of its types.
    private static func document(_ number: [UInt8]) -> [UInt8] {
        let inner = sized([number[0], 0x6E, 0] + number[1...])
        let array = sized([0x03, 0x30, 0] + inner)
        return sized(
            [0x04, 0x61, 0] + array + [0x02, 0x73, 0, 2, 0, 0, 0, 0x78, 0, 0x0A, 0x6E, 0x6F, 0]
                + [0x08, 0x62, 0, 1])
    }

    private static func sized(_ members: [UInt8]) -> [UInt8] {
        [UInt8(members.count + 5), 0, 0, 0] + members + [0]
    }

    private static let int32: [UInt8] = [0x10, 1, 0, 0, 0]
    private static let int64: [UInt8] = [0x12, 1, 0, 0, 0, 0, 0, 0, 0]
    private static let double: [UInt8] = [0x01, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F]

    private static func types(_ numbers: [UInt8]...) throws -> BSONTypes {
        var types = BSONTypes()
        for number in numbers { try types.add(document(number)) }
        return types
    }

    @Test func oneNumberInTwoTypesIsADifference() throws {
        let recorded = try Self.types(Self.int32)
        #expect(recorded.differences(from: recorded) == [])
        #expect(
            recorded.differences(from: try Self.types(Self.int32, Self.int64))
                == ["a[].n has the BSON types 16 and 18, recorded 16"])
        #expect(
            recorded.differences(from: try Self.types(Self.double))
                == ["a[].n has the BSON types 1, recorded 16"])
        // What the value decides may be both, and what was recorded need not come.
        var both = try Self.types(Self.double)
        both.add(recorded)
        #expect(both.differences(from: recorded) == [] && both.differences(from: BSONTypes()) == [])
        #expect(BSONTypes().differences(from: both) == [])
    }

    @Test func documentsWithoutTheirBytesMayHaveAnyType() throws {
        var recorded = try Self.types(Self.double)
        recorded.addUnknown(try JSON.parse(#"{"a":[{"n":1}]}"#))
        #expect(recorded.differences(from: try Self.types(Self.int32)) == [])
        var other = try Self.types(Self.double)
        other.addUnknown(try JSON.parse(#"{"s":"x"}"#))
        #expect(
            other.differences(from: try Self.types(Self.int32)) == ["a[].n has the BSON types 16, recorded 1"]
        )
        // Also when they came in another piece.
        var all = BSONTypes()
        all.add(other)
        all.add(recorded)
        #expect(all.differences(from: try Self.types(Self.int32)) == [])
    }

    @Test func whatIsNoDocumentIsRefused() {
        let whole = Self.document(Self.int32)
        for count in 0..<whole.count {
            var types = BSONTypes()
            #expect(throws: StackError.self) { try types.add(Array(whole.prefix(count))) }
        }
        var types = BSONTypes()
        #expect(throws: StackError.self) { try types.add(Self.sized([0x0B, 0x61, 0])) }
    }
}
