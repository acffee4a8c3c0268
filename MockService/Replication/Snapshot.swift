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
    let warn: @Sendable (String) -> Void

    /// Rows that one statement reads along a key.
    private static let pieceRows = 10_000

    /// Reads a table to its end and notes that.
    ///
    /// - Parameters:
    ///   - published: The table as the source has it.
    ///   - table: Its record.
    /// - Returns: The table with the layout that its rows are of.
    /// - Throws: `PostgresError`, `SQLiteError`.
    @discardableResult
    func read(_ published: SourceCatalog.PublishedTable, as table: SourceTable) async throws -> SourceTable {
        var table = table
        // Before the rows: those of a layout that comes between are then of one that is over.
        if let layout = try await SourceCatalog(connection).layout(oid: published.description.oid) {
            table = try await store.note(layout, of: table)
        }
        let columns = published.description.columns
        if !columns.contains(where: \.isIdentity) {
            // Rows that nothing identifies would come twice.
            _ = try await store.apply([.truncate(table)], context, isAhead: true)
        }
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
            } while piece.count == Self.pieceRows
        } else {
            try await copy(all + Self.which(filter), to: table, key: nil)
        }
        var done = table
        done.isSnapshotDone = true
        done.snapshotKey = nil
        try await store.noteSnapshot(done)
        links.note { $0.reading.arrived() }
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
                result.warnings.forEach(warn)
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
        return read.withLock { $0 }
    }
}
