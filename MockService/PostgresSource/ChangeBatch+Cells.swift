import PowerSyncPostgres
import PowerSyncServiceEngine

extension ChangeBatch {
    /// Adds the cells of a row, one for each column of its table, as the server gave them.
    ///
    /// - Parameters:
    ///   - row: The values, of which there is one for each column unless the server errs: one that is missing is NULL.
    ///   - columns: How many columns there are.
    /// - Returns: The first cell, and whether a value was left out.
    mutating func append(_ row: ArraySlice<PostgresCell>, columns: Int) -> (first: Int, isPartial: Bool) {
        let first = cells.count
        var isPartial = false
        for value in row.prefix(columns) {
            if let range = value.range {
                cells.append(Cell(range))
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
