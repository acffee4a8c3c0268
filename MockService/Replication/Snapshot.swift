import PowerSyncPostgres
import PowerSyncSystem

/// Reads whole tables into the state, in batches of about a megabyte (service 7.3).
///
/// Along a key of one column it can be interrupted and goes on where it was, and no statement sorts more than a piece of
/// the table; other tables start over, which changes nothing for rows that are known already.
struct Snapshot {
    let connection: PostgresConnection
    let store: ServiceStore
    let context: EvaluationContext
    let health: ServiceHealth.Link
    let links: LinkMemory
    let times: LinkTimes
    let warnings: RowWarningLog
    let warn: @Sendable (String) -> Void

    /// Rows that one statement reads along a key.
    private static let pieceRows = 10_000

    /// Reads a table to its end and notes that.
    ///
    /// - Parameters:
    ///   - published: The table as the source has it.
    ///   - table: Its record.
    ///   - types: The types of now.
    ///   - isToldAgain: Whether what the stream tells of transactions that are seen now is applied all the same
    ///     (service 4.8). Else all of it is skipped: some may be in no stream, or be told under a name that is over.
    /// - Returns: The table with the layout that its rows are of.
    /// - Throws: `PostgresError`, `SQLiteError`.
    @discardableResult
    func read(
        _ published: SourceCatalog.PublishedTable, as table: SourceTable, _ types: TypeCatalog,
        isToldAgain: Bool = false
    ) async throws -> SourceTable {
        let catalog = SourceCatalog(connection)
        let seen = try await catalog.seenTransactions()
        let position = try await SourceCatalog.position(connection)
        var table = table.described(by: published.description, types)
        // If rows are identified by fields, those that are told can be over: then it cannot be said which row is meant.
        let isApplied = isToldAgain && !table.hasFieldsInIdentity
        let columns = published.description.columns
        // Rows that nothing identifies would come twice: all of them are read at once, or again.
        let isBeginning = !columns.contains(where: \.isIdentity)
        table = try await store.note(
            seen, of: table, until: isApplied ? .zero : position, isBeginning: isBeginning)
        // Before the rows: those of a layout that comes between are then of one that is over.
        if let layout = try await catalog.layout(oid: published.description.oid, types) {
            table = try await store.note(layout, of: table)
        }
        if isBeginning { _ = try await store.apply([.truncate(table)], context, isAhead: true) }
        let names = columns.map { quoteIdentifier($0.name) }.joined(separator: ", ")
        let from = quoteIdentifier(published.description.schema, published.description.name)
        if published.hidesRows {
            warn(
                "[PSYNC_S1145] Row level security hides rows of \(table.qualifiedName) from the role of this service: they "
                    + "are synced only once they change. Give the role BYPASSRLS.")
        }
        let all = "SELECT \(names) FROM ONLY \(from)"
        let filter = published.filter.map { ["(\($0))"] } ?? []
        let key = columns.firstIndex { $0.name == published.key && $0.isIdentity }
        if let key, columns.count(where: \.isIdentity) == 1 {
            let name = quoteIdentifier(columns[key].name)
            var piece = Piece(count: 0, lastKey: table.snapshotKey)
            repeat {
                let conditions = filter + (piece.lastKey.map { ["\(name) > \(quoteLiteral($0))"] } ?? [])
                piece = try await copy(
                    all + Self.which(conditions) + " ORDER BY \(name) LIMIT \(Self.pieceRows)", to: table,
                    key: key)
                // Fields can change while a large table is read.
                if table.hasComposites {
                    table = table.described(by: published.description, try await catalog.types())
                }
            } while piece.count == Self.pieceRows
        } else {
            try await copy(all + Self.which(filter), to: table, key: nil)
        }
        var done = table
        done.isSnapshotDone = true
        done.snapshotKey = nil
        try await store.noteSnapshot(done)
        links.note { $0.reading.arrived() }
        warnings.tellDue(isEnd: true)
        return done
    }

    private static func which(_ conditions: [String]) -> String {
        conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
    }

    /// What one statement has read.
    private struct Piece {
        var count: Int
        var lastKey: String?
    }

    /// Reads the rows of one statement.
    ///
    /// - Parameters:
    ///   - select: The statement.
    ///   - table: Whose rows they are.
    ///   - key: The column along which they come, from which reading can go on; nil if there is none.
    /// - Returns: How many there were, and the last key.
    /// - Throws: `PostgresError`, `SQLiteError`.
    @discardableResult
    private func copy(_ select: String, to table: SourceTable, key: Int?) async throws -> Piece {
        let read = Lock(Piece(count: 0, lastKey: nil))
        let patience = links.now.reading.current
        await connection.setPatience(patience)
        health.step(before: patience)
        do {
            try await connection.copyOut("COPY (\(select)) TO STDOUT") { rows in
                var last: String?
                let events = rows.map { row in
                    let fields = PostgresCopyRow.fields(of: row)
                    if let key, key < fields.count { last = fields[key] }
                    return ReplicationEvent.change(
                        table, .snapshot(fields.map { $0.map { .text($0) } ?? .null }))
                }
                let result = try await store.apply(events, context, isAhead: true)
                health.step(before: patience)
                warnings.take(result.warnings)
                read.withLock { $0 = Piece(count: $0.count + rows.count, lastKey: last) }
                if let last {
                    var progress = table
                    progress.snapshotKey = last
                    try await store.noteSnapshot(progress)
                }
            }
        } catch {
            if (error as? PostgresError)?.code == .timedOut { links.note { $0.reading.wasSilent() } }
            throw error
        }
        await connection.setPatience(times.statement)
        // A source that is set back shows by this, and a crash of it takes nothing of this away.
        try await store.holdCheckpoint(
            context.stream, until: try await SourceCatalog(connection).safePosition(), isAhead: true)
        return read.withLock { $0 }
    }
}
