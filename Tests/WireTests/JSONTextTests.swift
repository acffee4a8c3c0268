import PowerSyncWire
import Testing

/// Texts are read eight bytes at a time, so what is special in them must be found at every distance from an edge.
@Suite struct JSONTextTests {
    /// The text as a whole JSON value, as a name, and within a data line, where it goes into a common buffer.
    private func read(_ literal: [UInt8]) throws(WireError) -> (value: String?, name: String?, data: String?)
    {
        let value = try JSON.parse([UInt8(ascii: "\"")] + literal + [UInt8(ascii: "\"")])
        let name = try JSON.parse(Array("{\"".utf8) + literal + Array("\":1}".utf8))
        let line = try SyncLine(
            parsing: Array(
                "{\"data\":{\"bucket\":\"b\",\"data\":[{\"op_id\":\"1\",\"op\":\"PUT\",\"checksum\":1,\"data\":\""
                    .utf8)
                + literal + Array("\"}]}}".utf8))
        guard case .data(let data) = line else { return (nil, nil, nil) }
        return (value.stringValue, name.objectMembers?.first?.name, data.operations.first?.data)
    }

    @Test(arguments: [
        ("\\\"", "\""), ("\\\\", "\\"), ("\\/", "/"), ("\\n\\t", "\n\t"), ("\\u00e9", "é"), ("é", "é"),
        ("\\uD83d\\uDe00", "😀"), ("𝄞", "𝄞"), ("\\u0000", "\0"), ("\u{7F}", "\u{7F}"),
        ("\\b\\f\\r", "\u{8}\u{C}\r"),
    ])
    func findsWhatIsSpecialAtEveryDistanceFromAnEdge(spelled: String, meant: String) throws {
        for before in 0..<18 {
            for after in 0..<10 {
                let (left, right) = (
                    String(repeating: "a", count: before), String(repeating: "z", count: after)
                )
                for times in 1...2 {
                    let literal = left + String(repeating: spelled, count: times) + right
                    let expected = left + String(repeating: meant, count: times) + right
                    let texts = try read(Array(literal.utf8))
                    #expect(texts.value == expected)
                    #expect(texts.name == expected)
                    #expect(texts.data == expected)
                }
            }
        }
    }

    @Test func tellsUTF8FromOtherBytesAsTheStandardLibraryDoes() throws {
        // The edges of all ranges of RFC 3629.
        let leads: [UInt8] = [
            0x41, 0x7F, 0x80, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1,
            0xF3,
            0xF4, 0xF5, 0xFF,
        ]
        let rest: [UInt8] = [0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0]
        var sequences: [[UInt8]] = leads.map { [$0] }
        for lead in leads {
            for second in rest {
                sequences.append([lead, second])
                for third in rest {
                    sequences.append([lead, second, third])
                    for fourth in rest { sequences.append([lead, second, third, fourth]) }
                }
            }
        }
        for sequence in sequences {
            let expected = String(validating: sequence, as: UTF8.self)
            let plain = try? JSON.parse([0x22] + sequence + [0x22]).stringValue
            #expect(plain == expected, "\(sequence)")
        }
        for sequence in sequences.shuffled().prefix(500) {
            for padding in [0, 3, 7, 8, 20] {
                let literal = Array(repeating: UInt8(ascii: "a"), count: padding) + sequence
                let expected = String(validating: literal, as: UTF8.self)
                let texts = try? read(literal + Array("\\n12345678".utf8))
                #expect(texts?.data == expected.map { $0 + "\n12345678" }, "\(sequence) behind \(padding)")
                #expect(texts?.name == expected.map { $0 + "\n12345678" }, "\(sequence) behind \(padding)")
            }
        }
    }

    @Test(arguments: [
        "a\u{1}b", "abcdefgh\u{1F}", "\\x", "\\u12g4", "\\u+123", "\\ud800", "\\ud800x", "\\ud800\\u0041",
        "\\udc00",
        "\\u12", "\\",
    ])
    func refusesABrokenTextEverywhere(literal: String) {
        for before in 0..<10 {
            let text = String(repeating: "a", count: before) + literal
            #expect(throws: WireError.self) { try read(Array(text.utf8)) }
            #expect(throws: WireError.self) { try JSON.parse("\"\(text)\"") }
        }
    }

    @Test(arguments: [
        ("\\ud83d", "\u{FFFD}"), ("\\ude00", "\u{FFFD}"), ("\\ud83dx", "\u{FFFD}x"),
        ("\\ud83d\\u0041", "\u{FFFD}A"), ("\\ud83d\\ud83d\\ude00", "\u{FFFD}😀"), ("\\ud83d\\n", "\u{FFFD}\n"),
        ("\\ude00\\ud83d", "\u{FFFD}\u{FFFD}"), ("\\ud83d\\ude00", "😀"),
    ])
    func halvesOfCharactersAreReplacedOnlyIfAsked(spelled: String, meant: String) throws {
        let limits = JSONLimits(replacesHalfCharacters: true)
        for before in 0..<10 {
            let start = String(repeating: "a", count: before)
            let text = try JSON.parse("\"\(start)\(spelled)\"", limits: limits)
            #expect(text == .string(start + meant))
        }
        for broken in ["\\ud83d\\u12", "\\ud83d\\", "\\ud83d\\x"] {
            #expect(throws: WireError.self) { try JSON.parse("\"\(broken)\"", limits: limits) }
        }
    }

    @Test(arguments: [
        ("0", 0), ("-0", 0), ("7", 7), ("-7", -7), ("999999999999999999", 999_999_999_999_999_999),
        ("9223372036854775807", Int64.max), ("-9223372036854775808", Int64.min), ("3.0", 3), ("-1e3", -1000),
    ])
    func readsACountHoweverItIsSpelled(spelled: String, meant: Int64) throws {
        for end in ["}", " }", ",\"x\":0}"] {
            let line = try SyncLine(
                parsing: Array(
                    "{\"checkpoint\":{\"last_op_id\":\"1\",\"buckets\":[{\"bucket\":\"b\",\"checksum\":1,\"count\":\(spelled)\(end)]}}"
                        .utf8))
            let bucket = BucketChecksum(bucket: "b", checksum: Checksum(1), count: meant)
            #expect(line == .checkpoint(Checkpoint(lastOpID: 1, buckets: [bucket])))
        }
    }

    @Test(arguments: [
        "01", "-", "1.", ".5", "+1", "1e", "0x1", "1.5", "9223372036854775808", "1e400", "\"1\"",
    ])
    func refusesACountThatIsNoWholeNumber(spelled: String) {
        #expect(throws: WireError.self) {
            try SyncLine(
                parsing: Array(
                    "{\"checkpoint\":{\"last_op_id\":\"1\",\"buckets\":[{\"bucket\":\"b\",\"checksum\":1,\"count\":\(spelled)}]}}"
                        .utf8))
        }
    }
}
