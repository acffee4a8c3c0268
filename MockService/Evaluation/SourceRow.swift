import PowerSyncSQLite
import PowerSyncWire

/// The columns of a source table, shared by its rows.
package final class RowShape: Sendable {
    /// Names in table order.
    package let columns: [String]
    private let indexes: [ExactText: Int]

    /// Makes a shape of the names in table order.
    package init(columns: [String]) {
        self.columns = columns
        indexes = Dictionary(
            columns.enumerated().map { (ExactText($1), $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Where a column is.
    package func index(of column: String) -> Int? { indexes[ExactText(column)] }
}

/// One row of a source table, converted to SQLite values.
package struct SourceRow: Sendable {
    /// The columns.
    package let shape: RowShape
    /// A value for each column.
    package var values: [SQLiteValue]

    /// Makes a row; there must be a value for each column.
    package init(shape: RowShape, values: [SQLiteValue]) {
        precondition(shape.columns.count == values.count, "a row has one value for each column")
        self.shape = shape
        self.values = values
    }

    /// The value of a column, NULL if there is none of that name.
    package subscript(_ column: String) -> SQLiteValue {
        shape.index(of: column).map { values[$0] } ?? .null
    }
}
