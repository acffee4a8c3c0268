import PowerSyncBackend
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import Testing

/// A database with an owner, who is no superuser, and a role for the backend that owns nothing and may make nothing.
struct TwoRoles: Sendable {
    let superuser: String
    let owner: String
    let backend: String
    /// The name of the backend's role.
    let backendRole: String
    private let poller: Poller

    static let map = """
        tables:
          lists: { owner: owner_id, attachments: [photo_id] }
          todos:
        """

    /// The tables of the app, with the rights that are the team's to grant.
    static let tables = """
        CREATE TABLE lists (id text PRIMARY KEY, owner_id text NOT NULL, name text CHECK (name <> 'bad'), photo_id text);
        CREATE TABLE todos (id text PRIMARY KEY, list_id text REFERENCES lists (id));
        CREATE FUNCTION suspect() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'who knows' USING ERRCODE = 'XX000'; END $$;
        CREATE TRIGGER suspect BEFORE INSERT ON lists FOR EACH ROW WHEN (NEW.name = 'suspect')
            EXECUTE FUNCTION suspect();
        """

    /// Lets a test have them, and drops the roles whatever happens.
    ///
    /// - Parameters:
    ///   - tables: makes tables as the owner; their rights are the backend's afterwards.
    ///   - body: the test.
    /// - Throws: what it throws.
    static func with(
        tables: String = tables, _ body: (TwoRoles) async throws -> Void
    ) async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let uri = try await TestPostgres.database(poller)
        let database = try #require(uri.split(separator: "/").last).description
        let roles = (owner: "owner_of_\(database)", backend: "backend_of_\(database)")
        let two = TwoRoles(
            superuser: uri, owner: TestRole.uri(uri, as: roles.owner),
            backend: TestRole.uri(uri, as: roles.backend),
            backendRole: roles.backend, poller: poller)
        let login = try TestRole.login(uri)
        // What is made is nobody's to execute unless somebody says so.
        try await two.asSuperuser(
            """
            CREATE ROLE \(roles.owner) \(login); CREATE ROLE \(roles.backend) \(login);
            GRANT CREATE ON DATABASE \(database) TO \(roles.owner);
            REVOKE CREATE ON SCHEMA public FROM PUBLIC;
            GRANT CREATE ON SCHEMA public TO \(roles.owner);
            ALTER DEFAULT PRIVILEGES FOR ROLE \(roles.owner) REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC
            """)
        do {
            try await two.asOwner(
                tables
                    + "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO \(roles.backend)"
            )
            try await body(two)
        } catch {
            try await two.drop(roles.owner, roles.backend)
            throw error
        }
        try await two.drop(roles.owner, roles.backend)
    }

    private func drop(_ owner: String, _ backend: String) async throws {
        try await asSuperuser(
            "DROP OWNED BY \(owner), \(backend) CASCADE; DROP ROLE \(owner); DROP ROLE \(backend)")
    }

    @discardableResult
    func asSuperuser(_ sql: String) async throws -> String? { try await script(sql, superuser) }

    @discardableResult
    func asOwner(_ sql: String) async throws -> String? { try await script(sql, owner) }

    @discardableResult
    func asBackend(_ sql: String) async throws -> String? { try await script(sql, backend) }

    /// Runs a migration without the command.
    @discardableResult
    func migrate(
        as uri: String? = nil, _ change: (inout SchemaMigration) -> Void = { _ in }
    ) async throws -> SchemaMigration.Outcome {
        var migration = SchemaMigration()
        change(&migration)
        let connection = try await PostgresConnection.connect(uri ?? owner, poller: poller)
        do {
            let outcome = try await migration.run(on: connection)
            await connection.close()
            return outcome
        } catch {
            await connection.close()
            throw error
        }
    }

    private func script(_ sql: String, _ uri: String) async throws -> String? {
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        do {
            let results = try await connection.script(sql)
            await connection.close()
            return results.last?.scalar
        } catch {
            await connection.close()
            throw error
        }
    }
}
