import PowerSyncPostgres
import PowerSyncServiceEngine
import PowerSyncWire

/// Texts of a database with encoding SQL_ASCII, which the server hands out as they were stored: whatever bytes.
enum RepairedText {
    /// Replaces what is no UTF-8, as `String(decoding:as:)` does.
    ///
    /// - Parameters:
    ///   - range: Where the text lies.
    ///   - bytes: What it lies in; gets another text at its end.
    /// - Returns: Where a text lies that is UTF-8; the same place if it was.
    static func range(of range: Range<Int>, in bytes: inout [UInt8]) -> Range<Int> {
        let isValid = bytes.withUnsafeBufferPointer {
            UTF8Check.isValid(UnsafeBufferPointer(rebasing: $0[range]))
        }
        guard !isValid else { return range }
        let text = String(decoding: bytes[range], as: UTF8.self)
        let start = bytes.count
        bytes.append(contentsOf: text.utf8)
        return start..<bytes.count
    }
}

extension ChangeBatch {
    /// Adds the cells of a row, one for each column of its table, as the server gave them.
    ///
    /// - Parameters:
    ///   - row: The values, of which there is one for each column unless the server errs: one that is missing is NULL.
    ///   - columns: How many columns there are.
    ///   - isRepaired: Whether texts may be no UTF-8.
    /// - Returns: The first cell, and whether a value was left out.
    mutating func append(
        _ row: ArraySlice<PostgresCell>, columns: Int, isRepaired: Bool
    ) -> (first: Int, isPartial: Bool) {
        let first = cells.count
        var isPartial = false
        for value in row.prefix(columns) {
            if let range = value.range {
                cells.append(Cell(isRepaired ? RepairedText.range(of: range, in: &bytes) : range))
            } else if value == .unchanged {
                isPartial = true
                cells.append(.unchanged)
            } else {
                cells.append(.null)
            }
        }
        while cells.count < first + columns { cells.append(.null) }
        return (first, isPartial)
    }
}
