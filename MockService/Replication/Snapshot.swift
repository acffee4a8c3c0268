import PowerSyncPostgres

/// Reads whole tables into the state, in batches of about a megabyte (service 7.3).
///
/// Along a key of one column it can be interrupted and goes on where it was; other tables start over, which
/// changes
/// nothing for rows that are known already.
struct Snapshot {
    let connection: PostgresConnection
    let store: ServiceStore
    let context: EvaluationContext
    let health: ServiceHealth
    let warn: @Sendable (String) -> Void

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
        let known = table
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
        var conditions = published.filter.map { ["(\($0))"] } ?? []
        var order = ""
        let keyIndex = columns.firstIndex { $0.name == published.key && $0.isIdentity }
        let isAlongKey = keyIndex != nil && columns.count { $0.isIdentity } == 1
        if let key = published.key, isAlongKey {
            if let last = table.snapshotKey {
                conditions.append("\(quoteIdentifier(key)) > \(quoteLiteral(last))")
            }
            order = " ORDER BY \(quoteIdentifier(key))"
        }
        let which = conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
        try await connection.copyOut("COPY (SELECT \(names) FROM ONLY \(from)\(which)\(order)) TO STDOUT") {
            rows in
            var last: String?
            let events = rows.map { row in
                let fields = PostgresCopyRow.fields(of: row)
                if isAlongKey, let keyIndex, keyIndex < fields.count { last = fields[keyIndex] }
                return ReplicationEvent.change(known, .snapshot(fields.map { $0.map { .text($0) } ?? .null }))
            }
            let result = try await store.apply(events, context, isAhead: true)
            health.step()
            result.warnings.forEach(warn)
            if let last {
                var progress = known
                progress.snapshotKey = last
                try await store.noteSnapshot(progress)
            }
        }
        var done = table
        done.isSnapshotDone = true
        done.snapshotKey = nil
        try await store.noteSnapshot(done)
        return done
    }
}
