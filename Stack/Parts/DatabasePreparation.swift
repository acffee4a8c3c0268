import PowerSyncPostgres
import PowerSyncSystem

/// Makes a database ready for the stack.
enum DatabasePreparation {
    /// Runs the schema on an empty database and makes the publication `powersync` if there is none.
    ///
    /// The publication comes before the slot: a slot cannot decode changes made before its publication was.
    ///
    /// - Parameters:
    ///   - uri: the database.
    ///   - schema: SQL, run only if the schema `public` has no table.
    ///   - poller: the poller of the program.
    ///   - warn: gets what a person should know.
    /// - Returns: the published tables, by name, without the backend's own of schema `psb`.
    /// - Throws: `StackError` or `PostgresError`.
    static func prepare(
        uri: String, schema: String?, poller: Poller, warn: (String) -> Void
    ) async throws -> [PublishedTable] {
        try await checkReplication(uri, poller)
        return try await PostgresConnection.with(uri, poller: poller) { connection in
            try await prepare(connection, schema: schema, warn: warn)
        }
    }

    /// Lets a backend that starts take any store for that of the attachments which the database knows.
    static func untieStore(uri: String, poller: Poller) async throws {
        try await PostgresConnection.with(uri, poller: poller) { connection in
            let found = try await connection.query("SELECT to_regclass('psb.attachment_store') IS NOT NULL")
            guard found[0, 0] == "t" else { return }
            _ = try await connection.query("DELETE FROM psb.attachment_store")
        }
    }

    /// Opens a connection as the service opens its own, which only tries again when its role may not.
    private static func checkReplication(_ uri: String, _ poller: Poller) async throws {
        do {
            try await PostgresConnection.with(
                uri, parameters: ["replication": "database"], poller: poller
            ) { _ in }
        } catch let error as PostgresError where error.sqlstate == insufficientPrivilege {
            throw StackError(
                .database,
                "the role may not replicate (\(error)): as a superuser run ALTER ROLE … REPLICATION")
        }
    }

    private static func prepare(
        _ connection: PostgresConnection, schema: String?, warn: (String) -> Void
    ) async throws -> [PublishedTable] {
        let level = try await connection.query("SHOW wal_level")
        guard level[0, 0] == "logical" else {
            throw StackError(
                .database,
                "the server's wal_level is \(level[0, 0] ?? "unknown"); set it to logical "
                    + "(ALTER SYSTEM SET wal_level = logical) and restart the server")
        }
        if let schema {
            let tables = try await connection.query(
                "SELECT 1 FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') LIMIT 1"
            )
            if tables.rowCount == 0 {
                _ = try await connection.script(schema)
            } else {
                warn("the database has tables already: the schema file was not run")
            }
        }
        try await publish(connection, warn: warn)
        let published = try await connection.query(
            """
            SELECT schemaname, tablename FROM pg_publication_tables
            WHERE pubname = 'powersync' AND schemaname <> 'psb' ORDER BY 1, 2
            """)
        return (0..<published.rowCount).compactMap { row in
            guard let schema = published[row, 0], let name = published[row, 1] else { return nil }
            return PublishedTable(schema: schema, name: name)
        }
    }

    private static func publish(_ connection: PostgresConnection, warn: (String) -> Void) async throws {
        let found = try await connection.query("SELECT 1 FROM pg_publication WHERE pubname = 'powersync'")
        guard found.rowCount == 0 else { return }
        do {
            if await connection.serverVersion >= 150_000 {
                _ = try await connection.script("CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public")
            } else {
                warn("Postgres before 15 cannot publish a schema: publishing all tables of the database")
                _ = try await connection.script("CREATE PUBLICATION powersync FOR ALL TABLES")
            }
        } catch let error as PostgresError where error.sqlstate == insufficientPrivilege {
            try await publishByName(connection, warn: warn)
        }
    }

    /// Publishes the tables that there are: only a superuser may publish a schema or everything.
    private static func publishByName(_ connection: PostgresConnection, warn: (String) -> Void) async throws {
        let tables = try await connection.query(
            """
            SELECT format('%I.%I', nspname, relname) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
            WHERE nspname = 'public' AND relkind IN ('r', 'p') AND NOT relispartition AND relpersistence = 'p'
            ORDER BY relname
            """)
        let names = (0..<tables.rowCount).compactMap { tables[$0, 0] }
        guard !names.isEmpty else {
            throw StackError(
                .database,
                "the role is no superuser, so tables are published by name, and there is none yet: create tables "
                    + "first, or give --schema FILE.sql")
        }
        do {
            _ = try await connection.script(
                "CREATE PUBLICATION powersync FOR TABLE \(names.joined(separator: ", "))")
        } catch let error as PostgresError where error.sqlstate == insufficientPrivilege {
            throw StackError(
                .database,
                "the role may not create the publication (\(error)): it needs CREATE on the database and to own the "
                    + "tables; or as a superuser run CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public"
            )
        }
        warn(
            "the role is no superuser: the \(names.count) tables of schema public are published by name; after "
                + "CREATE TABLE run ALTER PUBLICATION powersync ADD TABLE …")
    }

    /// The SQLSTATE insufficient_privilege.
    private static let insufficientPrivilege = "42501"
}
