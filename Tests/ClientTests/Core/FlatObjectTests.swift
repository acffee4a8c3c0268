import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// The fast way to compare rows says the same as the one that builds trees.
struct FlatObjectTests {
    @Test(arguments: 1...8) func bothWaysGiveEqualResults(_ seed: Int) throws {
        var random = SeededRandom(seed: seed)
        var flat = 0
        for _ in 0..<400 {
            let (old, new) = (Self.object(&random), Self.object(&random))
            let fast = Result { try RowDiff.diff(old, new) }
            let tree = Result { try RowDiff.treeDiff(old, new) }
            switch (fast, tree) {
            case (.success(let fast), .success(let tree)):
                #expect(fast.utf8.elementsEqual(tree.utf8), "\(old) → \(new): \(fast), not \(tree)")
            case (.failure(let fast as SQLiteError), .failure(let tree as SQLiteError)):
                #expect(fast == tree)
            default: Issue.record("\(old) → \(new): \(fast), \(tree)")
            }
            if Self.isFlat(old), Self.isFlat(new) { flat += 1 }
        }
        #expect(flat > 40, "the fast way was hardly taken")
    }

    @Test(arguments: [
        "{}", #"{"a":1}"#, #"{"a":"\"\\\b\f\n\r\t","b":null}"#, #"{"b":-0.5e+10,"a":true,"é":"ü"}"#,
    ]) func takesApartWhatSQLiteWrites(_ text: String) { #expect(Self.isFlat(text)) }

    @Test(arguments: [
        "", "{", "[]", "{} ", #"{"a": 1}"#, #"{"a":{}}"#, #"{"a":[]}"#, #"{"a":1,"a":1}"#, #"{"a\n":1}"#,
        #"{"a":"\u00e9"}"#, #"{"a":"\/"}"#, #"{"a":01}"#, #"{"a":1.}"#, #"{"a":-}"#, #"{"a":1e}"#,
        #"{"a":nul}"#, #"{"a":1,}"#, #"{"a"}"#, #"{"a":"x}"#, "{\"a\":\"\u{1}\"}", #"{"a":NaN}"#,
    ]) func leavesTheUnusualToTheTree(_ text: String) { #expect(!Self.isFlat(text)) }

    @Test func leavesBytesThatAreNotUTF8ToTheTree() {
        let bytes: [UInt8] = Array(#"{"a":""#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8)
        #expect(bytes.withUnsafeBufferPointer { FlatObject($0) == nil })
    }

    @Test func anotherSpellingOfALetterIsAChange() throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        let expected = Array("{\"a\":\"\(decomposed)\"}".utf8)
        for padding in ["", " "] {
            let diff = try RowDiff.diff("{\"a\":\"\(composed)\"\(padding)}", "{\"a\":\"\(decomposed)\"}")
            #expect(Array(diff.utf8) == expected)
        }
        let names = try RowDiff.diff("{\"\(composed)\":1}", "{\"\(decomposed)\":1 }")
        #expect(Array(names.utf8) == Array("{\"\(decomposed)\":1,\"\(composed)\":null}".utf8))
    }

    private static func isFlat(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { FlatObject($0) != nil }
    }

    private static let names = ["a", "b", "ab", "é", "e\u{301}", "column_one", #"q\"q"#, #"\u0061"#, ""]
    private static let values = [
        "null", "null", "true", "false", "0", "-0", "1", "1.0", "1.00", "1e0", "12345678901234567890",
        "9007199254740993", "9007199254740992", #""""#, #""x""#, #""1""#, #""é""#, "\"e\u{301}\"",
        #""\n\t\"\\""#, #""\u000a""#, #""\/""#, "[]", "[1,2]", "[1.0,2]", #"{"x":1,"y":[2]}"#,
        #"{"y":[2.0],"x":1}"#, "01", "nul", "\"\u{1}\"",
    ]

    /// Objects that are mostly what SQLite writes, and sometimes anything else.
    private static func object(_ random: inout SeededRandom) -> String {
        let isUsual = Int.random(in: 0..<3, using: &random) > 0
        let count = Int.random(in: 0...6, using: &random)
        var names = Array(Self.names.prefix(isUsual ? 6 : Self.names.count)).shuffled(using: &random)
        if !isUsual { names += names }
        let values = Array(Self.values.prefix(isUsual ? 19 : Self.values.count))
        let space = isUsual ? "" : [" ", "\n", "", ""].randomElement(using: &random) ?? ""
        let members = names.prefix(count).map { name in
            "\(space)\"\(name)\":\(space)\(values.randomElement(using: &random) ?? "1")"
        }
        return "{\(members.joined(separator: ","))}"
    }
}

/// Comparing and joining texts, for tests.
extension RowDiff {
    static func diff(_ old: String, _ new: String) throws(SQLiteError) -> String {
        let (old, new) = (Array(old.utf8), Array(new.utf8))
        let bytes = try old.withUnsafeBufferPointer { old throws(SQLiteError) in
            try new.withUnsafeBufferPointer { new throws(SQLiteError) in try diff(old, new) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func merge(_ objects: [String]) throws(SQLiteError) -> String {
        var merge = ObjectMerge()
        for object in objects {
            try Array(object.utf8).withUnsafeBufferPointer { object throws(SQLiteError) in
                try merge.add(object)
            }
        }
        return String(decoding: merge.result, as: UTF8.self)
    }
}
