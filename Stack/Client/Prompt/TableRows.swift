import PowerSync
import PowerSyncSQLite
import PowerSyncSystem

/// The rows that a query yields, as many as are to be shown; the others are counted.
final class TableRows: Sendable {
    private struct State {
        var columns: [String] = []
        var rows: [[SQLiteValue]] = []
        var count = 0
    }

    private let limit: Int?
    private let state = Lock(State())

    /// Begins without rows.
    ///
    /// - Parameter limit: how many are kept; nil for all.
    init(limit: Int?) { self.limit = limit }

    /// Takes the row of a cursor.
    ///
    /// - Parameter cursor: the row, of a database of the SDK.
    /// - Throws: `ClientError` for a cursor that does not tell which values SQLite has.
    func take(_ cursor: any SqlCursor) throws {
        let (isFirst, isKept) = state.withLock { state in
            state.count += 1
            return (state.count == 1, limit.map { state.count <= $0 } ?? true)
        }
        guard isKept else { return }
        let row = try TableRow(cursor)
        state.withLock { state in
            if isFirst { state.columns = row.columns }
            state.rows.append(row.values)
        }
    }

    /// Forgets all rows.
    func reset() { state.withLock { $0 = State() } }

    /// The rows that are kept.
    var table: ResultTable { state.withLock { ResultTable(columns: $0.columns, rows: $0.rows) } }

    /// How many rows there were.
    var count: Int { state.withLock { $0.count } }
}

/// One row with the names of its columns.
struct TableRow: Sendable {
    let columns: [String]
    let values: [SQLiteValue]

    /// Reads the row of a cursor.
    ///
    /// - Parameter cursor: the row, of a database of the SDK.
    /// - Throws: `ClientError` for a cursor that does not tell which values SQLite has.
    init(_ cursor: any SqlCursor) throws {
        guard let cursor = cursor as? any StoredValueCursor else {
            throw ClientError("this database does not tell the types of its values", code: .invalidState)
        }
        columns = cursor.allColumns
        values = columns.indices.map { cursor.storedValue(index: $0) }
    }
}
