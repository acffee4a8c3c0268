/// Values of a source row that an update may leave out, as `large_value` keeps them (DESIGN.md, 1; service 7.5).
///
/// There is one cell for each column whose type has no fixed length, in table order, with the text of Postgres: a
/// varint, 0 for NULL, else one more than the text has bytes, and these.
/// Of a row that is too large to be synced there are the lengths alone, each a varint.
package struct LargeCells: Sendable, Hashable {
    /// The bytes.
    package let bytes: [UInt8]
    /// How many bytes the texts have of a row that is too large, at least: 0 for NULL; nil if the texts are kept.
    package let lengths: [Int]?
    private let ranges: [Range<Int>?]

    /// Reads the cells of a row.
    ///
    /// - Parameters:
    ///   - stored: The bytes.
    ///   - count: How many columns of that kind the table has.
    ///   - areLengths: Whether they are of a row that is too large.
    /// - Throws: `StoreError` if they are not as many cells.
    package init(stored: [UInt8], count: Int, areLengths: Bool = false) throws {
        bytes = stored
        var lengths: [Int] = []
        ranges = try stored.withUnsafeBytes { buffer in
            var reader = PackedReader(buffer)
            var ranges: [Range<Int>?] = []
            while !reader.isAtEnd {
                if areLengths {
                    // As long as a cell can be, so that they can be added.
                    guard let length = UInt32(exactly: try reader.varint()) else {
                        throw StoreError.unreadableRow
                    }
                    lengths.append(Int(length))
                    ranges.append(nil)
                } else {
                    let length = try reader.varint()
                    ranges.append(try length == 0 ? nil : reader.take(length - 1))
                }
            }
            guard ranges.count == count else { throw StoreError.unreadableRow }
            return ranges
        }
        self.lengths = areLengths ? lengths : nil
    }

    /// How many cells there are.
    package var count: Int { ranges.count }

    /// Returns the text of a cell as UTF-8; nil for NULL, and if there are lengths alone.
    package subscript(_ index: Int) -> ArraySlice<UInt8>? { ranges[index].map { bytes[$0] } }

    /// Appends the cell of a text, as UTF-8.
    package static func append(_ text: some Collection<UInt8>, to bytes: inout [UInt8]) {
        Varint.append(text.count + 1, to: &bytes)
        bytes.append(contentsOf: text)
    }

    /// Appends the cell of a NULL.
    package static func appendNull(to bytes: inout [UInt8]) { bytes.append(0) }
}
