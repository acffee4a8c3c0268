/// The SQL of one scalar, with the way back to the configuration's text.
package struct QueryText: Sendable, Hashable {
    /// Its UTF-8.
    package let bytes: [UInt8]
    /// The way back.
    package let map: ScalarMap

    /// Makes a text of its parts.
    package init(_ text: String, map: ScalarMap) {
        bytes = Array(text.utf8)
        self.map = map
    }

    /// Makes a text that stands in the configuration as it is.
    ///
    /// - Parameters:
    ///   - text: The SQL.
    ///   - start: Its first byte in the configuration's text.
    package init(plain text: String, at start: Int = 0) {
        let count = text.utf8.count
        let run = ScalarMap.Run(value: 0..<count, text: start..<start + count)
        let whole = TextRange(start: start, end: start + count)
        self.init(text, map: ScalarMap(runs: count == 0 ? [] : [run], whole: whole))
    }

    /// Where a part of the SQL stands in the configuration's text.
    package func range(_ sql: Range<Int>) -> TextRange { map.range(sql) }

    /// Where all of it stands.
    package var whole: TextRange { map.whole }
}
