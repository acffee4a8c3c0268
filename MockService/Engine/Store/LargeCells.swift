/// Values of a source row that an update may leave out, as `large_value` keeps them (DESIGN.md, 1; service 7.5).
///
/// There is one cell for each column whose type has no fixed length, in table order, with the text of Postgres: a
/// varint, 0 for NULL, else one more than the text has bytes, and these.
package struct LargeCells: Sendable, Hashable {
    /// The bytes.
    package let bytes: [UInt8]
    private let ranges: [Range<Int>?]

    /// Reads the cells of a row.
    ///
    /// - Parameters:
    ///   - stored: The bytes.
    ///   - count: How many columns of that kind the table has.
    /// - Throws: `StoreError` if they are not as many cells.
    package init(stored: [UInt8], count: Int) throws {
        bytes = stored
        ranges = try stored.withUnsafeBytes { buffer in
            var reader = PackedReader(buffer)
            var ranges: [Range<Int>?] = []
            while !reader.isAtEnd {
                let length = try reader.varint()
                ranges.append(try length == 0 ? nil : reader.take(length - 1))
            }
            guard ranges.count == count else { throw StoreError.unreadableRow }
            return ranges
        }
    }

    /// How many cells there are.
    package var count: Int { ranges.count }

    /// Returns the text of a cell as UTF-8; nil for NULL.
    package subscript(_ index: Int) -> ArraySlice<UInt8>? { ranges[index].map { bytes[$0] } }

    /// Appends the cell of a text, as UTF-8.
    package static func append(_ text: some Collection<UInt8>, to bytes: inout [UInt8]) {
        Varint.append(text.count + 1, to: &bytes)
        bytes.append(contentsOf: text)
    }

    /// Appends the cell of a NULL.
    package static func appendNull(to bytes: inout [UInt8]) { bytes.append(0) }
}
