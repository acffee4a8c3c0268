import PowerSyncSQLite
import Testing

/// Service 4.4.
struct RowTextTests {
    @Test func rowsKeepTheirOrderOmitBlobsAndLetLaterColumnsWin() {
        let text = RowText.json([
            ("id", "a"), ("b", .blob([1])), ("n", .integer(.max)), ("x", .null), ("id", "c"), ("10", 1),
            ("9", 2),
        ])
        #expect(text == #"{"9":2,"10":1,"id":"c","n":9223372036854775807,"x":null}"#)
    }
}
