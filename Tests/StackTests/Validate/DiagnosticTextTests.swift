import PowerSyncSyncRules
import PowerSyncTerminal
import Testing

@testable import PowerSyncStack

/// Diagnostics as lines.
struct DiagnosticTextTests {
    /// The lines of one diagnostic about some bytes of a text.
    private func lines(_ text: String, _ range: Range<Int>, file: String = "a.yaml") -> [String] {
        let diagnostic = CheckedParts.diagnostic(.columnUnknown, at: range)
        let check = CheckedParts.check(text, [diagnostic], file: file)
        let lines = DiagnosticText(check.checked, width: DisplayWidth { $0.value > 0x2E80 ? 2 : 1 })
        return check.diagnostics.flatMap { lines.lines($0) }
    }

    private static func x(_ count: Int, _ character: Character = "x") -> String {
        String(repeating: character, count: count)
    }

    private static func blanks(_ count: Int) -> String { x(count, " ") }

    private static let table: [(String, Range<Int>, [String])] = [
        ("config:\n  nope: 1\n", 10..<14, ["2:3", "  nope: 1", "  ^~~~"]),
        ("a:\n\tb\n", 4..<5, ["2:2", "\tb", "\t^"]),
        ("a\tb\tcd", 4..<6, ["1:5", "a\tb\tcd", " \t \t^~"]),
        ("日本: x\n", 8..<9, ["1:5", "日本: x", "      ^"]),
        ("日本: x", 0..<6, ["1:1", "日本: x", "^~~~"]),
        ("ünknown", 2..<4, ["1:2", "ünknown", " ^~"]),
        // Behind a line, over its end, and what is empty.
        ("a\n", 1..<1, ["1:2", "a", " ^"]), ("ab\ncd", 1..<5, ["1:2", "ab", " ^"]),
        ("", 0..<0, ["1:1", "", "^"]),
        ("ab\r\ncd", 0..<2, ["1:1", "ab", "^~"]), ("ab\r\ncd", 4..<6, ["2:1", "cd", "^~"]),
        // What acts on a terminal is spelled.
        ("a\u{1B}b", 2..<3, ["1:3", "a\\x1bb", "     ^"]),
        // Long lines.
        (x(120), 100..<102, ["1:101", x(120), "\(blanks(100))^~"]),
        (x(200), 10..<12, ["1:11", "\(x(118))…", "\(blanks(10))^~"]),
        (x(200), 150..<160, ["1:151", "…\(x(90))", "\(blanks(41))^~~~~~~~~~"]),
        (x(400), 200..<400, ["1:201", "…\(x(118))…", "\(blanks(41))^\(x(77, "~"))"]),
        (x(100, "日"), 270..<273, ["1:91", "…\(x(30, "日"))", "\(blanks(41))^~"]),
    ]

    @Test(arguments: table)
    func aMarkStandsUnderThePlace(_ text: String, _ range: Range<Int>, _ expected: [String]) {
        let place = "a.yaml:\(expected[0]): warning: Column not found."
        #expect(lines(text, range) == [place] + expected.dropFirst())
    }

    @Test func neitherFileNorMessageActsOnATerminal() {
        let diagnostic = CheckedParts.diagnostic(.unknownKey, ["a\u{1B}[31m\nb"], at: 0..<1)
        let check = CheckedParts.check("x", [diagnostic], file: "\u{7}.yaml")
        let first = check.diagnostics.flatMap { DiagnosticText(check.checked).lines($0) }.first
        #expect(first == "\\x07.yaml:1:1: error: Unknown key 'a\\x1b[31m\\nb'.")
    }

    @Test func placesAreInOrderAndNothingIsTwice() {
        let silent = Recorded(.silent)
        let check = CheckedParts.check(
            "abcdef",
            [
                CheckedParts.diagnostic(.columnUnknown, at: 4..<5),
                CheckedParts.diagnostic(.tableUnknown, at: 1..<3),
                CheckedParts.diagnostic(.columnUnknown, at: 1..<2),
                CheckedParts.diagnostic(.columnUnknown, at: 4..<5),
                CheckedParts.diagnostic(.idRequired, at: 4..<5, recorded: silent),
                // What the admin routes say alone is not shown.
                CheckedParts.diagnostic(
                    .starElsewhere, at: 0..<1, recorded: Recorded(.silent, isOnlyThere: true)),
                CheckedParts.diagnostic(.suffixEmpty, at: 0..<1, recorded: Recorded(.text("other", nil))),
            ])
        #expect(
            check.diagnostics.map(\.name) == [
                .suffixEmpty, .columnUnknown, .tableUnknown, .columnUnknown, .idRequired,
            ])
        #expect(check.diagnostics[0].message == DiagnosticName.suffixEmpty.message())
        #expect(check.summary == "sync.yaml: 1 error, 4 warnings")
    }

    @Test func theStatusSaysHowBadItIs() {
        let warning = CheckedParts.diagnostic(.columnUnknown, at: 0..<1)
        let error = CheckedParts.diagnostic(.unknownKey, ["a"], at: 0..<1)
        let good = CheckedParts.check("x", [])
        #expect(good.status(isStrict: true) == 0 && good.report(.text) == nil)
        #expect(good.summary == "sync.yaml: 0 errors, 0 warnings")
        #expect(CheckedParts.check("x", [warning]).status(isStrict: false) == 0)
        #expect(CheckedParts.check("x", [warning]).status(isStrict: true) == 1)
        #expect(CheckedParts.check("x", [error, warning]).status(isStrict: false) == 2)
        #expect(CheckedParts.check("x", [error]).status(isStrict: true) == 2)
    }
}
