import PowerSyncPostgres
import PowerSyncWire

/// Which tables may hide rows from whoever asks: those with row security for the role of the backend, views, and what is
/// another database's.
enum HiddenRows {
    /// Returns the question which of some tables do.
    ///
    /// - Parameter tables: the tables.
    /// - Returns: a statement whose rows have their places, from 0; nil if there are none.
    static func question(_ tables: [UploadTable]) -> PostgresStatement? {
        guard !tables.isEmpty else { return nil }
        return PostgresStatement(
            """
            SELECT (n.place - 1)::text FROM pg_catalog.unnest($1::text[]) WITH ORDINALITY AS n(name, place)
            JOIN pg_catalog.pg_class c ON c.oid = n.name::pg_catalog.regclass
            WHERE c.relkind NOT IN ('r', 'p') OR pg_catalog.row_security_active(c.oid)
            """, [arrayLiteral(tables.map(\.quoted))])
    }

    /// Asks which of some tables do.
    ///
    /// - Parameters:
    ///   - tables: the tables.
    ///   - role: who asks; nil for who has logged in.
    ///   - connection: the connection, outside a transaction; after an error one is left open.
    /// - Returns: their names.
    /// - Throws: `PostgresError`, `CancellationError`.
    static func among(
        _ tables: [UploadTable], as role: DatabaseRole?, on connection: PostgresConnection
    ) async throws -> Set<Catalog.Name> {
        guard let question = question(tables) else { return [] }
        try await connection.script("BEGIN READ ONLY")
        let opening = RoleStatements.take(role)
        try await connection.query(opening.sql, opening.parameters)
        let answer = try await connection.query(question.sql, question.parameters)
        try await connection.script("ROLLBACK")
        return names(answer, of: tables)
    }

    /// Returns the tables of an answer to `question`.
    static func names(_ answer: PostgresResult?, of tables: [UploadTable]) -> Set<Catalog.Name> {
        guard let answer else { return [] }
        let places = (0..<answer.rowCount).compactMap { answer[$0, 0].flatMap { Int($0) } }
        return Set(places.filter { tables.indices.contains($0) }.map { tables[$0].source.name })
    }

    /// Refuses a map with attachments in rows that are everybody's and that the database hides from some: whoever may write
    /// one row there could name the files of others in it.
    ///
    /// - Parameters:
    ///   - map: the map.
    ///   - source: the name of its file, for errors.
    ///   - tables: its tables.
    ///   - role: who asks; nil for who has logged in.
    ///   - connection: the connection, outside a transaction.
    /// - Throws: `BackendError` with `.tableMap` that names line and column, `PostgresError`, `CancellationError`.
    static func check(
        _ map: TableMap, source: String, _ tables: UploadTables, as role: DatabaseRole?,
        on connection: PostgresConnection
    ) async throws {
        let everybodys = tables.attachmentTables.filter { $0.owner == nil }
        let hiding = try await among(everybodys, as: role, on: connection)
        for table in everybodys where hiding.contains(table.source.name) {
            let entry = map.tables.first { ExactText($0.name.text) == ExactText(table.name) }
            guard let place = entry?.attachments.first else { continue }
            throw BackendError(
                .tableMap,
                "\(source) line \(place.line), column \(place.column): the database may hide rows of "
                    + "\(table.source.name.schema).\(table.source.name.table) (row security, or it is no plain table), so "
                    + "its attachments cannot be everybody's: name its owner")
        }
    }
}
