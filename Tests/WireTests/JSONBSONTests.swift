import Foundation
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@Suite struct JSONBSONTests {
    /// Numbers by their value: the recorder spelled them its own way.
    private static func plain(_ json: JSON) -> JSON {
        switch json {
        case .number(let lexeme): .number(Double(lexeme).map { "\($0)" } ?? lexeme)
        case .array(let elements): .array(elements.map(plain))
        case .object(let members): .object(members.map { JSONMember($0.name, plain($0.value)) })
        default: json
        }
    }

    private static func documents(in json: JSON) -> [(line: JSON, bson: String)] {
        switch json {
        case .array(let elements): return elements.flatMap(documents)
        case .object(let members):
            if let line = json["line"], let bson = json["bson"]?.stringValue { return [(line, bson)] }
            return members.flatMap { documents(in: $0.value) }
        default: return []
        }
    }

    @Test func readsWhatTheRealServiceSent() throws {
        var count = 0
        for file in try Repository.fixtureFiles("service/curated") {
            let text = try String(contentsOf: file, encoding: .utf8)
            guard text.contains("\"bson\""), let json = try? JSON.parse(text) else { continue }
            for document in Self.documents(in: json) where !document.line.text.contains("$long") {
                let bytes = Array(try #require(Data(base64Encoded: document.bson)))
                #expect(Self.plain(try JSON.parse(bson: bytes)) == Self.plain(document.line))
                count += 1
            }
        }
        #expect(count > 20)
    }

    @Test func spellsNumbersSoThatIntegersStayIntegers() throws {
        // {"a": int32 7, "b": double 2.5, "c": int64 2^53 + 1, "d": null, "e": true}
        let bytes: [UInt8] =
            [43, 0, 0, 0] + [16, 97, 0, 7, 0, 0, 0] + [1, 98, 0, 0, 0, 0, 0, 0, 0, 4, 64]
            + [18, 99, 0, 1, 0, 0, 0, 0, 0, 32, 0] + [10, 100, 0] + [8, 101, 0, 1] + [0]
        var whole = bytes
        whole[0] = UInt8(whole.count)
        #expect(
            try JSON.parse(bson: whole).text == #"{"a":7,"b":2.5,"c":9007199254740993,"d":null,"e":true}"#)
    }

    @Test func refusesWhatIsNoDocument() {
        let document: [UInt8] = [8, 0, 0, 0, 10, 97, 0, 0]
        #expect(throws: Never.self) { try JSON.parse(bson: document) }
        #expect(throws: WireError.self) { try JSON.parse(bson: document + [0]) }
        #expect(throws: WireError.self) { try JSON.parse(bson: Array(document.dropLast())) }
        // A double that is not finite, and an ObjectId.
        #expect(throws: WireError.self) {
            try JSON.parse(bson: [16, 0, 0, 0, 1, 97, 0, 0, 0, 0, 0, 0, 0, 240, 127, 0])
        }
        #expect(throws: WireError.self) {
            try JSON.parse(bson: [20, 0, 0, 0, 7, 97, 0] + [UInt8](repeating: 1, count: 12) + [0])
        }
    }
}
