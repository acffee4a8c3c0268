import PowerSyncSQLite
import PowerSyncWire

/// The columns of a source table, shared by its rows.
final class RowShape: Sendable {
    /// Names in table order.
    let columns: [String]
    private let indexes: [ExactText: Int]

    /// Makes a shape of the names in table order.
    init(columns: [String]) {
        self.columns = columns
        indexes = Dictionary(
            columns.enumerated().map { (ExactText($1), $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Where a column is.
    func index(of column: String) -> Int? { indexes[ExactText(column)] }
}

/// One row of a source table, converted to SQLite values.
struct SourceRow: Sendable {
    /// The columns.
    let shape: RowShape
    /// A value for each column.
    var values: [SQLiteValue]

    /// Makes a row; there must be a value for each column.
    init(shape: RowShape, values: [SQLiteValue]) {
        precondition(shape.columns.count == values.count, "a row has one value for each column")
        self.shape = shape
        self.values = values
    }

    /// The value of a column, NULL if there is none of that name.
    subscript(_ column: String) -> SQLiteValue {
        shape.index(of: column).map { values[$0] } ?? .null
    }
}
