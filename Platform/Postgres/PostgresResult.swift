import CPowerSyncPQ

/// The rows and the command tag of one statement, values in text form.
///
/// Strings are made when they are asked for; a result costs what libpq keeps of it.
package struct PostgresResult: Sendable {
    /// Name and type of a column.
    package struct Column: Sendable, Hashable {
        /// Its name, as the statement gives it.
        package let name: String
        /// The id of its type in `pg_type`.
        package let typeOID: UInt32

        /// Makes a column of its parts.
        package init(name: String, typeOID: UInt32) {
            self.name = name
            self.typeOID = typeOID
        }
    }

    /// The columns; none if the statement returns no rows, or they were not to be kept.
    package let columns: [Column]
    /// How many rows there are here.
    package let rowCount: Int
    /// For example `INSERT 0 3`, or `ROLLBACK` for the COMMIT of a failed transaction.
    package let commandTag: String
    /// The count in the command tag, 0 if it has none.
    package let affectedRows: Int
    private let handle: ResultHandle?

    init(_ handle: ResultHandle, keepsRows: Bool = true) {
        self.handle = keepsRows ? handle : nil
        columns = keepsRows ? (0..<handle.columnCount).map { handle.column($0) } : []
        rowCount = keepsRows ? handle.rowCount : 0
        commandTag = handle.commandTag
        affectedRows = handle.affectedRows
    }

    /// The value at a row and a column, nil for NULL; both must exist.
    package subscript(row: Int, column: Int) -> String? {
        precondition(row >= 0 && row < rowCount, "row \(row) of \(rowCount)")
        precondition(column >= 0 && column < columns.count, "column \(column) of \(columns.count)")
        return handle?.value(row, column)
    }

    /// The value in the column of that name; nil for NULL and for a name that is not there.
    package subscript(row: Int, name: String) -> String? {
        guard let column = columns.firstIndex(where: { $0.name == name }) else { return nil }
        return self[row, column]
    }

    /// All values of a row.
    package func row(_ row: Int) -> [String?] {
        columns.indices.map { self[row, $0] }
    }

    /// The value of the first column of the first row; nil if there is no row.
    package var scalar: String? {
        rowCount > 0 && !columns.isEmpty ? self[0, 0] : nil
    }
}
