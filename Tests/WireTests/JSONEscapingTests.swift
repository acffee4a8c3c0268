import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Texts are escaped eight bytes at a time, so what is special must be found wherever it stands.
@Suite(.namesSeed)
struct JSONEscapingTests {
    /// What JavaScript makes of each byte, one after another.
    private static func expected(_ bytes: [UInt8]) -> [UInt8] {
        bytes.flatMap { byte -> [UInt8] in
            switch byte {
            case UInt8(ascii: "\""): Array("\\\"".utf8)
            case UInt8(ascii: "\\"): Array("\\\\".utf8)
            case 0x08: Array("\\b".utf8)
            case 0x09: Array("\\t".utf8)
            case 0x0A: Array("\\n".utf8)
            case 0x0C: Array("\\f".utf8)
            case 0x0D: Array("\\r".utf8)
            case 0..<0x10: Array("\\u000\(String(byte, radix: 16))".utf8)
            case 0x10..<0x20: Array("\\u00\(String(byte, radix: 16))".utf8)
            default: [byte]
            }
        }
    }

    private static func escaped(_ bytes: [UInt8], behind start: [UInt8] = []) -> [UInt8] {
        var result = start
        bytes.withUnsafeBytes { JSON.appendEscaped($0, to: &result) }
        return result
    }

    @Test func everyByteIsEscapedAtEveryDistanceFromAnEdge() {
        for byte in UInt8.min...UInt8.max {
            for before in 0..<10 {
                let text = [UInt8](repeating: 0x61, count: before) + [byte, byte] + Array("zzzzzzz".utf8)
                #expect(Self.escaped(text) == Self.expected(text))
            }
        }
    }

    @Test func randomBytesAreEscapedAsOneByOne() async throws {
        try await forEachSeed(200) { random in
            // The neighbours of what is special, which a borrow could reach.
            let alphabet: [UInt8] = [
                0, 0x1F, 0x20, 0x21, 0x22, 0x23, 0x5B, 0x5C, 0x5D, 0x7F, 0x80, 0xA2, 0xFF,
            ]
            let most = random.pick([20, 600, 3000])
            let count = random.below(most)
            let isDense = random.once(in: 2)
            let text = (0..<count).map { _ -> UInt8 in
                if isDense || random.once(in: 8) { return random.pick(alphabet) }
                return UInt8(truncatingIfNeeded: random.next())
            }
            let start = Array("kept".utf8)
            try #require(Self.escaped(text, behind: start) == start + Self.expected(text))
        }
    }

    @Test func aTextMayBeCutAnywhere() {
        let text = Array("a\"é\\\u{1}\n€😀".utf8)
        for place in 0...text.count {
            let first = Self.escaped(Array(text[..<place]))
            #expect(Self.escaped(Array(text[place...]), behind: first) == Self.expected(text))
        }
    }

    @Test func whatIsLongTakesTheTimeOfItsLength() {
        expectNoSquare(of: 500_000) { count in
            _ = Self.escaped([UInt8](repeating: 1, count: count))
        }
    }
}
