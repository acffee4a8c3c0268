import Foundation
import PowerSync
import PowerSyncTestSupport
import PowerSyncWire
import Testing

struct JsonValueTests {
    private func decode(_ text: String) throws -> JsonValue {
        try JSONDecoder().decode(JsonValue.self, from: Data(text.utf8))
    }

    @Test(.behaviour(229)) func decodesEveryKindAndEncodesItBack() throws {
        let text =
            #"{"array":[1,"a",true],"bool":false,"double":123.45,"int":123,"null":null,"string":"123"}"#
        let value = try decode(text)
        #expect(
            value
                == .object([
                    "null": .null, "int": .int(123), "double": .double(123.45), "string": .string("123"),
                    "bool": .bool(false), "array": .array([.int(1), .string("a"), .bool(true)]),
                ]))
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(String(decoding: try encoder.encode(value), as: UTF8.self) == text)
        #expect(value == JsonValue(try JSON.parse(text)))
        guard case .object(let members) = value else { return }
        #expect(members.json.text == text)
    }

    @Test(
        .behaviour(230),
        arguments: [
            ("1", JsonValue.int(1)), ("0", .int(0)), ("1.0", .int(1)), ("1e3", .int(1000)),
            ("true", .bool(true)), ("9223372036854775807", .int(.max)),
            ("9223372036854775808", .double(9_223_372_036_854_775_808)), ("0.1", .double(0.1)),
        ])
    func numbersAndTruthValuesStayApart(_ text: String, _ expected: JsonValue) throws {
        #expect(JsonValue(try JSON.parse(text)) == expected)
        #expect(try decode(text) == expected)
    }

    @Test func textOfAnObjectDoesNotDependOnTheOrderOfInsertion() {
        var forward = JsonParam()
        var backward = JsonParam()
        let names = (0..<50).map { "key\($0)" }
        for name in names { forward[name] = .object(["b": .int(1), "a": .string(name)]) }
        for name in names.reversed() { backward[name] = .object(["a": .string(name), "b": .int(1)]) }
        #expect(forward.json.text == backward.json.text)
        #expect((["b": .null, "a": .bool(true)] as JsonParam).json.text == #"{"a":true,"b":null}"#)
    }

    @Test func numbersWithoutJSONSpellingAreWrittenAsJSON() throws {
        #expect(JsonValue.double(.infinity).json.text == "9e999")
        #expect(JsonValue.double(-.infinity).json.text == "-9e999")
        #expect(JsonValue.double(.nan).json.text == "null")
        #expect(JsonValue(try JSON.parse("9e999")) == .double(.infinity))
    }

    @Test func equivalenceComparesNumbersByValue() {
        let left: JsonParam = ["a": .array([.int(1), .object(["b": .double(2)])])]
        let right: JsonParam = ["a": .array([.double(1), .object(["b": .int(2)])])]
        #expect(left.isEquivalent(to: right))
        #expect(left != right)
        #expect(!JsonValue.int(1).isEquivalent(to: .bool(true)))
        #expect(!JsonValue.int(1).isEquivalent(to: .string("1")))
        #expect(!JsonValue.int(1).isEquivalent(to: .double(1.5)))
        #expect(!left.isEquivalent(to: ["a": .null, "b": .null]))
        #expect(!(["a": .null] as JsonParam).isEquivalent(to: ["b": .null]))
        #expect(!JsonValue.string("\u{e9}").isEquivalent(to: .string("e\u{301}")))
        #expect(!(["\u{e9}": .null] as JsonParam).isEquivalent(to: ["e\u{301}": .null]))
    }
}
