import PowerSyncPostgres
import PowerSyncWire

/// Has Postgres check, at the start, the conditions of a table map that say who may read a row.
enum ReadCheck {
    /// Plans a question with each condition, which reads no row: so names, types and rights are looked at.
    ///
    /// - Parameters:
    ///   - map: the map.
    ///   - source: the name of its file, for errors.
    ///   - tables: its tables.
    ///   - settings: those of uploads, with which the conditions run.
    ///   - role: who asks; nil for who has logged in.
    ///   - connection: outside a transaction; after an error one is left open.
    /// - Throws: `BackendError` with `.tableMap` that names line and column, `PostgresError`, `CancellationError`.
    static func run(
        _ map: TableMap, source: String, _ tables: UploadTables, _ settings: SessionSettings,
        as role: DatabaseRole?, on connection: PostgresConnection
    ) async throws {
        let entries = map.tables.compactMap { entry in entry.read.map { (entry, $0) } }
        guard !entries.isEmpty else { return }
        try await connection.script("BEGIN READ ONLY")
        let opening = settings.statement(as: role)
        try await connection.query(opening.sql, opening.parameters)
        for (entry, place) in entries {
            guard let table = tables.tables[ExactText(entry.name.text)], let read = table.read else {
                continue
            }
            // No subject is one: a text that a cast refuses would tell nothing of the condition.
            let (subject, parameters): (String, [String?]) =
                read.hasSubject ? (ReadCondition.place(of: "$1::text"), [nil]) : ("", [])
            do {
                try await connection.query(
                    "EXPLAIN SELECT FROM \(table.quoted) WHERE \(read.sql(subject: subject))", parameters)
            } catch let error as PostgresError where error.code == .server && !error.isConnectionLost {
                throw BackendError(
                    .tableMap,
                    "\(source) line \(place.line), column \(place.column): the database refuses the condition: \(error)",
                    cause: error)
            }
        }
        try await connection.script("ROLLBACK")
    }
}
