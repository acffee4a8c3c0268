import PowerSync
import PowerSyncSQLite
import PowerSyncSystem

/// The rows that a query yields, as many as are to be shown; the others are counted.
///
/// Where all are to be shown, more than there is room for are an error.
final class TableRows: Sendable {
    private struct State {
        var columns: [String] = []
        var rows: [[SQLiteValue]] = []
        var count = 0
        var bytes = 0
        /// Whether no more rows are kept.
        var isFull = false
    }

    /// The most bytes that are kept.
    private static let byteLimit = 64 << 20
    /// The same for a person, who sees a part anyway; the first row may have more.
    private static let partLimit = 4 << 20
    /// What a value takes beside the bytes of a text or a blob.
    private static let valueSize = 32

    private let limit: Int?
    private let state = Lock(State())

    /// Begins without rows.
    ///
    /// - Parameter limit: how many are kept; nil for all.
    init(limit: Int?) { self.limit = limit }

    /// Takes the row of a cursor.
    ///
    /// - Parameter cursor: the row, of a database of the SDK.
    /// - Throws: `ClientError` for a row for which there is no room, and for a cursor that does not tell which values
    ///   SQLite has.
    func take(_ cursor: any SqlCursor) throws {
        guard let cursor = cursor as? any StoredValueCursor else {
            throw ClientError("this database does not tell the types of its values", code: .invalidState)
        }
        let columns = cursor.allColumns
        try state.withLock { state in
            state.count += 1
            if state.count == 1 { state.columns = columns }
            if state.isFull { return }
            state.bytes += columns.indices.reduce(0) { $0 + Self.valueSize + cursor.byteCount(index: $1) }
            if let limit {
                state.isFull =
                    state.count > limit || state.bytes > Self.byteLimit
                    || state.bytes > Self.partLimit && !state.rows.isEmpty
                if state.isFull { return }
            } else if state.bytes > Self.byteLimit {
                throw ClientError(
                    "the result has more than 64 MiB; LIMIT and OFFSET ask for a part of it",
                    code: .answerTooLarge)
            }
            state.rows.append(columns.indices.map { cursor.storedValue(index: $0) })
        }
    }

    /// Forgets all rows.
    func reset() { state.withLock { $0 = State() } }

    /// The rows that are kept.
    var table: ResultTable { state.withLock { ResultTable(columns: $0.columns, rows: $0.rows) } }

    /// How many rows there were.
    var count: Int { state.withLock { $0.count } }
}
