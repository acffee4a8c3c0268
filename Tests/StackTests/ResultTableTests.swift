import PowerSyncSQLite
import PowerSyncStack
import PowerSyncTerminal
import Testing

struct ResultTableTests {
    /// Wide is what is beyond Latin, Greek and Cyrillic.
    private static let measure = DisplayWidth { $0.value < 0x1100 || $0 == "…" ? 1 : 2 }

    private static func shown(
        _ columns: [String], _ rows: [[SQLiteValue]], width: Int? = nil, form: ResultTable.Form = .auto,
        isColored: Bool = false
    ) -> ResultTable.Shown {
        let layout = ResultTable.Layout(
            width: width, form: form, style: TextStyle(isColored: isColored), measure: measure)
        return ResultTable(columns: columns, rows: rows).shown(in: layout)
    }

    private static func widths(_ shown: ResultTable.Shown) -> [Int] { shown.lines.map { measure.of($0) } }

    // MARK: One row a line

    @Test func numbersStandAtTheRightAndTextsAtTheLeft() {
        let shown = Self.shown(
            ["id", "name", "n", "x"],
            [["a", "Groceries", 12, 1.5], ["b", nil, 3, nil], ["longer", "", -4, 1e20]])
        #expect(
            shown.lines == [
                "id     | name      |  n |     x", "-------+-----------+----+------",
                "a      | Groceries | 12 |   1.5", "b      | NULL      |  3 | NULL",
                "longer |           | -4 | 1e+20",
            ])
        #expect(!shown.isCut)
    }

    @Test func aColumnOfMixedValuesHasItsNameAtTheLeft() {
        let shown = Self.shown(["value"], [[1], ["text"]])
        #expect(shown.lines == ["value", "-----", "    1", "text"])
    }

    @Test func columnsMayHaveOneName() {
        #expect(Self.shown(["a", "a"], [[1, 2]]).lines == ["a | a", "--+--", "1 | 2"])
    }

    @Test func wideCharactersTakeTwoColumnsAndMarksNone() {
        let shown = Self.shown(["w", "x"], [["漢字", "a"], ["e\u{301}", "b"]], width: 40)
        #expect(shown.lines[0] == "w    | x")
        #expect(shown.lines[2] == "漢字 | a")
        // The measure of this test takes the mark for a character of one column.
        #expect(shown.lines[3] == "e\u{301}   | b")
    }

    @Test func bytesAreHexadecimalAndShortenedForATerminal() {
        let rows: [[SQLiteValue]] = [
            [.blob([0, 255, 16])], [.blob([])], [.blob([UInt8](repeating: 1, count: 17))],
        ]
        let short = "x'\(String(repeating: "01", count: 16))…' (17 bytes)"
        let shown = Self.shown(["b"], rows, width: 80)
        #expect(shown.lines[2...] == ["x'00ff10'", "x''", short])
        #expect(shown.isCut)
        // Where a table does not fit, it is the same.
        let narrow = Self.shown(["b", "c", "d"], rows.map { $0 + ["c", "d"] }, width: 15)
        #expect(narrow.lines.first == "-[ 1 ]-" && narrow.isCut)
    }

    @Test func bytesAreWholeForAScriptAndWhereLinesAreAskedFor() {
        let rows: [[SQLiteValue]] = [[.blob([UInt8](repeating: 1, count: 17))]]
        let long = "x'\(String(repeating: "01", count: 17))'"
        for form in ResultTable.Form.allCases {
            let shown = Self.shown(["b"], rows, form: form)
            #expect(shown.lines.contains { $0.hasSuffix(long) } && !shown.isCut)
        }
        let shown = Self.shown(["b"], rows, width: 80, form: .line)
        #expect(shown.lines == ["-[ 1 ]-", "b | \(long)"] && !shown.isCut)
    }

    /// One long value costs no space in every other row.
    @Test func withoutATerminalColumnsAreFilledUpOnlySoFar() {
        let text = String(repeating: "x", count: 5000)
        let shown = Self.shown(["a", "b"], [[.text(text), 1], ["y", 2]])
        #expect(shown.lines[2] == "\(text) | 1")
        #expect(shown.lines[3] == "y\(String(repeating: " ", count: 999)) | 2")
        #expect(!shown.isCut)
    }

    @Test func aTextThatLooksLikeNoValueIsQuoted() {
        #expect(Self.shown(["a"], [[nil], ["NULL"]]).lines[2...] == ["NULL", "'NULL'"])
        #expect(
            Self.shown(["a"], [[nil], ["NULL"]], width: 20, form: .line).lines == [
                "-[ 1 ]-", "a | NULL", "-[ 2 ]-", "a | 'NULL'",
            ])
    }

    @Test func infinityIsSpelledAsSQLiteDoes() {
        let shown = Self.shown(["x"], [[.real(.infinity)], [.real(-.infinity)]])
        #expect(shown.lines[2...] == [" Inf", "-Inf"])
    }

    // MARK: Fitting in

    @Test func theWidestColumnsGiveFirst() {
        let text = String(repeating: "x", count: 60)
        let shown = Self.shown(["id", "text", "n"], [[1, .text(text), 5]], width: 30)
        #expect(shown.isCut)
        #expect(
            shown.lines == [
                "id | text\(String(repeating: " ", count: 18))| n",
                "---+\(String(repeating: "-", count: 23))+--",
                " 1 | \(String(repeating: "x", count: 20))… | 5",
            ])
        #expect(Self.widths(shown).allSatisfy { $0 <= 30 })
    }

    /// A narrower one has no room for the number of a row.
    @Test(arguments: 7...60)
    func noLineIsWiderThanTheTerminal(width: Int) {
        let rows: [[SQLiteValue]] = [
            [
                1, .text(String(repeating: "漢字", count: 30)), "short",
                .text(String(repeating: "y", count: 400)),
            ],
            [123_456_789, nil, .blob([UInt8](repeating: 7, count: 40)), "\u{1B}[2J\n\n\n"],
        ]
        for form in ResultTable.Form.allCases {
            let shown = Self.shown(["number", "wide", "bytes", "long"], rows, width: width, form: form)
            #expect(Self.widths(shown).allSatisfy { $0 <= width }, "\(form)")
        }
    }

    @Test func whatFitsIsNotCut() {
        let shown = Self.shown(["id", "name"], [["a", "1234567890"]], width: 15)
        #expect(shown.lines[2] == "a  | 1234567890")
        #expect(!shown.isCut)
        let narrower = Self.shown(["id", "name"], [["a", "1234567890"]], width: 14)
        #expect(narrower.lines[2] == "a  | 12345678…")
        #expect(narrower.isCut)
    }

    @Test func whatDoesNotFitAtAllIsOneColumnALine() {
        let columns = (1...6).map { "column\($0)" }
        let shown = Self.shown(columns, [(1...6).map { .text("a value \($0)") }], width: 40)
        #expect(shown.lines.first == "-[ 1 ]-")
        #expect(shown.lines[1] == "column1 | a value 1")
        #expect(shown.lines.count == 7)
        #expect(!shown.isCut)
        // Unless a table is asked for.
        let table = Self.shown(columns, [(1...6).map { .text("a value \($0)") }], width: 40, form: .table)
        #expect(table.lines.count == 3 && table.isCut)
    }

    // MARK: One column a line

    @Test func aLongValueGoesOnBelowItself() {
        let shown = Self.shown(
            ["id", "name"], [["a", "Groceries and more"], [nil, ""]], width: 15, form: .line)
        #expect(
            shown.lines == [
                "-[ 1 ]-", "id   | a", "name | Grocerie", "     | s and mo", "     | re", "-[ 2 ]-",
                "id   | NULL", "name | ",
            ])
    }

    @Test func withoutATerminalNothingIsCut() {
        let text = String(repeating: "long ", count: 1000)
        for form in ResultTable.Form.allCases {
            let shown = Self.shown(["a"], [[.text(text)]], form: form)
            #expect(shown.lines.contains { $0.contains(text) })
            #expect(!shown.isCut)
        }
    }

    // MARK: What acts

    @Test func nothingInARowActsOnTheTerminal() {
        let evil = "\u{1B}[31mred\u{1B}]0;title\u{7}\u{9B}2J\u{202E}\r\n\t\u{2028}"
        for form in ResultTable.Form.allCases {
            for width in [nil, 30] {
                let shown = Self.shown([evil], [[.text(evil)]], width: width, form: form)
                let scalars = shown.lines.joined().unicodeScalars
                #expect(!scalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) })
                #expect(!scalars.contains { $0 == "\u{202E}" || $0 == "\u{2028}" })
            }
        }
        #expect(Self.shown(["a"], [["\u{1B}[31mx"]]).lines[2] == "\\x1b[31mx")
    }

    @Test func onlyOurOwnColoursAreThere() {
        let shown = Self.shown(["a"], [[nil], ["NULL"]], isColored: true)
        #expect(shown.lines == ["\u{1B}[1ma\u{1B}[0m", "----", "\u{1B}[2mNULL\u{1B}[0m", "NULL"])
    }
}
