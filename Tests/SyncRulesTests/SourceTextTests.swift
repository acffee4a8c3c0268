import PowerSyncSyncRules
import Testing

/// Places in texts: bytes, UTF-16 units, lines and columns.
struct SourceTextTests {
    @Test func placesCountCharactersAndUnits() {
        // a, ü of two bytes, an emoji of four, CR LF, then a line that a CR alone ends.
        let text = SourceText("aü😀b\r\nc\rd\n")
        let places = [0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13].map { text.place($0) }
        #expect(places.map(\.line) == [1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 3])
        #expect(places.map(\.column) == [1, 2, 2, 3, 3, 4, 5, 6, 1, 2, 1, 2])
        #expect([0, 1, 3, 7, 8, 13, 14, 99].map { text.utf16($0) } == [0, 1, 2, 4, 5, 10, 11, 11])
        // What is beyond an end is at that end.
        let ends = [text.place(14), text.place(99), text.place(-1), SourceText("").place(0)]
        #expect(ends.map(\.line) == [4, 4, 1, 1])
        #expect(ends.map(\.column) == [1, 1, 1, 1])
    }

    @Test func aScalarThatStandsAsItIsMapsByteByByte() {
        let query = QueryText(plain: "SELECT 1", at: 10)
        #expect(query.range(0..<6) == TextRange(start: 10, end: 16))
        #expect(query.range(7..<8) == TextRange(start: 17, end: 18))
        #expect(query.range(3..<3) == TextRange(start: 13, end: 13))
        #expect(query.range(8..<8) == TextRange(start: 18, end: 18))
        #expect(query.whole == TextRange(start: 10, end: 18))
        #expect(QueryText(plain: "", at: 4).range(0..<0) == TextRange(start: 4, end: 4))
    }

    /// An escape of six bytes for two of the value, and a line end with blanks that is nothing of it.
    @Test func whatIsEscapedMapsToAllOfTheEscape() {
        let map = ScalarMap(
            runs: [
                ScalarMap.Run(value: 0..<1, text: 1..<2), ScalarMap.Run(value: 1..<3, text: 2..<8),
                ScalarMap.Run(value: 3..<4, text: 8..<9), ScalarMap.Run(value: 4..<6, text: 12..<14),
            ], whole: TextRange(start: 0, end: 15))
        let query = QueryText("aübcd", map: map)
        #expect(query.range(0..<1) == TextRange(start: 1, end: 2))
        #expect(query.range(1..<3) == TextRange(start: 2, end: 8))
        #expect(query.range(2..<3) == TextRange(start: 2, end: 8))
        #expect(query.range(0..<4) == TextRange(start: 1, end: 9))
        #expect(query.range(3..<6) == TextRange(start: 8, end: 14))
        #expect(query.range(4..<4) == TextRange(start: 12, end: 12))
        #expect(query.range(6..<6) == TextRange(start: 14, end: 14))
        let unknown = ScalarMap(runs: [], whole: TextRange(start: 5, end: 9))
        #expect(QueryText("abc", map: unknown).range(1..<2) == TextRange(start: 5, end: 9))
    }
}
