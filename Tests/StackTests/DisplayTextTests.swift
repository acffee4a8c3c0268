import PowerSyncStack
import Testing

struct DisplayTextTests {
    @Test(arguments: [
        ("plain é漢😀", "plain é漢😀"), ("a\nb\r\n\tc", "a\\nb\\r\\n\\tc"), ("\u{1B}[31m", "\\x1b[31m"),
        ("\0\u{7F}\u{9B}", "\\x00\\x7f\\x9b"), ("\u{202E}abc\u{2066}", "\\u{202e}abc\\u{2066}"),
        ("\u{2028}\u{FEFF}", "\\u{2028}\\u{feff}"), ("back\\slash", "back\\slash"),
        ("👩\u{200D}👧 e\u{301}", "👩\u{200D}👧 e\u{301}"), ("", ""),
    ])
    func whatActsIsSpelledAndTheRestStays(text: String, shown: String) {
        #expect(DisplayText.of(text) == shown)
    }
}
