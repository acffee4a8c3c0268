import Foundation
import PowerSync
import PowerSyncHTTPTestSupport
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncSourceCompatibility

/// A backend and a service for the apps of these tests, on a database of their own.
struct TodoStack: Sendable {
    /// A folder for the apps' databases.
    let folder: String
    /// The backend, as a signed-in user's app reaches it.
    let backend: StackBackend
    /// A connection to look into Postgres.
    let postgres: PostgresConnection

    /// Whose app it is.
    static let user = "alice"

    private static let schema = """
        CREATE TABLE lists (
            id text PRIMARY KEY,
            owner_id text NOT NULL,
            name text NOT NULL,
            created_at timestamptz NOT NULL DEFAULT now()
        );
        CREATE TABLE todos (
            id text PRIMARY KEY,
            list_id text NOT NULL REFERENCES lists (id) ON DELETE CASCADE,
            owner_id text NOT NULL,
            description text NOT NULL,
            completed boolean NOT NULL DEFAULT false
        );
        CREATE TABLE labels (id text PRIMARY KEY, owner_id text NOT NULL, name text NOT NULL);
        INSERT INTO lists (id, owner_id, name)
        VALUES ('groceries', 'alice', 'Groceries'), ('other', 'carol', 'Other');
        INSERT INTO todos (id, list_id, owner_id, description)
        VALUES ('milk', 'groceries', 'alice', 'Milk');
        """

    private static let syncConfig = """
        config:
          edition: 3
        streams:
          lists:
            auto_subscribe: true
            priority: 1
            query: SELECT * FROM lists WHERE owner_id = auth.user_id()
          labels:
            auto_subscribe: true
            query: SELECT * FROM labels WHERE owner_id = auth.user_id()
          list_todos:
            query: >-
              SELECT * FROM todos
              WHERE owner_id = auth.user_id() AND list_id = subscription.parameter('list_id')
          todos:
            query: SELECT * FROM todos WHERE owner_id = auth.user_id()

        """

    /// Starts everything, lets `body` use it, and ends it however `body` ends.
    static func run(_ body: (TodoStack) async throws -> Void) async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let folder = try TemporaryDirectory(prefix: "powersync-app-")
        defer { folder.remove() }
        // Nothing but a busy machine is in the way.
        let seconds = TestOptions.deadline.components.seconds
        let server = try await TestPostgres.server().uri()
        let database = StackDatabase(
            .ownDatabase(server: "\(server)?connect_timeout=\(seconds)"), poller: poller)
        var configuration = LocalStackConfiguration(
            executable: Repository.executable("powersync-stack"), folder: folder.path)
        configuration.logLevel = "warning"
        configuration.schema = schema
        configuration.syncConfig = .text(syncConfig)
        configuration.backendEnvironment = [
            "STATEMENT_TIMEOUT_MS": String(seconds * 1_000), "LOCK_TIMEOUT_MS": String(seconds * 1_000),
            "BODY_TIMEOUT": "3600",
        ]
        let stack = LocalStack(configuration, database: database, poller: poller)
        do {
            try await database.open()
            try await stack.start()
            let postgres = try await PostgresConnection.connect(
                try database.uri, poller: poller, deadline: TestOptions.deadline)
            do {
                let url = try await stack.url(.backend)
                let backend = try StackBackend(url: url, user: user)
                try await body(TodoStack(folder: folder.path, backend: backend, postgres: postgres))
            } catch {
                await postgres.close()
                throw error
            }
            await postgres.close()
        } catch {
            // In a task of its own: a test whose time is over cannot wait, and what went wrong first is told.
            await Task {
                await stack.stop()
                do { try await database.close() } catch { Issue.record(error) }
            }.value
            throw error
        }
        await stack.stop()
        try await database.close()
    }

    /// Returns what the first column of the first row of a query has in Postgres.
    func ask(_ sql: String) async throws -> String? { try await postgres.query(sql).scalar }

    /// Opens the app on a device.
    ///
    /// - Parameters:
    ///   - name: what the device is called.
    ///   - connector: the app's connector.
    /// - Returns: the app, not connected yet.
    /// - Throws: `PowerSyncError`.
    func store(_ name: String, connector: any PowerSyncBackendConnectorProtocol) async throws -> TodoStore {
        let store = await TodoStore(
            filename: "\(folder)/\(name).db", user: Self.user, connector: connector,
            logger: DefaultLogger(minSeverity: .fault))
        try await store.start()
        return store
    }
}

/// The way of an app to the backend of the stack.
final class StackBackend: TodoBackend {
    private let client: JSONClient
    private let user: String

    init(url: String, user: String) throws {
        client = try JSONClient(url)
        self.user = user
    }

    func signedInUser() async throws -> SignedInUser? {
        let answer = try await client.send("GET", "/api/auth/token?user_id=\(user)")
        let json = try answer.json
        guard let endpoint = json["powersync_url"]?.stringValue, let token = json["token"]?.stringValue else {
            throw StackError(.answer, "the backend gives no token: \(answer.status)")
        }
        return SignedInUser(endpoint: endpoint, token: token)
    }

    func apply(_ changes: [Change]) async throws {
        let token = try await signedInUser()?.token
        let body = String(decoding: try JSONEncoder().encode(["batch": changes]), as: UTF8.self)
        let answer = try await client.send("POST", "/api/data", body, token: token)
        guard answer.status == 200 else {
            throw StackError(.answer, "the backend takes no upload: \(answer.status)")
        }
        // What is refused for good is a success, too, which only its summary tells apart.
        #expect(try answer.json["summary"]?["rejected"] == .number("0"), "\(changes)")
    }
}
