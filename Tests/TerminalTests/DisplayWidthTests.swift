import PowerSyncTerminal
import Testing

struct DisplayWidthTests {
    @Test(arguments: [
        ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("漢字", 4), ("ｶﾞ", 2), ("😀", 2), ("a\u{200D}b", 2),
        ("\u{1B}\u{7F}", 0),
    ])
    func aTextTakesTheColumnsThatItsCharactersTake(text: String, columns: Int) {
        let width = DisplayWidth()
        #expect(width.of(text) == columns)
        #expect(text.reduce(0) { $0 + width.of($1) } == columns)
    }

    @Test func whatTheLibraryDoesNotPrintIsOneColumn() {
        #expect(DisplayWidth { _ in -1 }.of("\u{378}") == 1)
        #expect(DisplayWidth { _ in 2 }.of("ab\u{378}") == 4)
    }
}
