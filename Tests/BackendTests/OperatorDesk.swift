import Foundation
import PowerSyncBackend
import PowerSyncCommandLine
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire

/// Runs commands on the database of a backend as an operator does, in this process.
struct OperatorDesk: Sendable {
    let uri: String
    var map = ""
    /// What the environment says beside.
    var environment: [String: String] = [:]

    /// A table that refuses the name "bad" and counts its writes.
    static let schema = """
        CREATE TABLE lists (id text PRIMARY KEY, owner_id text NOT NULL, name text CHECK (name <> 'bad'));
        CREATE TABLE writes (id text);
        CREATE FUNCTION count_write() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN INSERT INTO writes VALUES (NEW.id); RETURN NEW; END $$;
        CREATE TRIGGER counts AFTER INSERT OR UPDATE ON lists FOR EACH ROW EXECUTE FUNCTION count_write();
        CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public;
        """
    static let map = "tables:\n  lists: { owner: owner_id }\n"

    /// An operation that is refused, or one with a good name.
    static func put(_ id: String, _ name: String = "bad") -> String {
        #"{"op":"PUT","table":"lists","id":"\#(id)","data":{"name":"\#(name)"}}"#
    }

    /// Runs a test with a backend and a desk.
    static func with(
        schema: String = schema, map: String = map, _ change: (inout BackendConfiguration) -> Void = { _ in },
        _ body: (TestBackend, OperatorDesk) async throws -> Void
    ) async throws {
        let folder = try TemporaryDirectory(prefix: "letters-")
        defer { folder.remove() }
        let file = folder.path + "/map.yaml"
        try map.write(toFile: file, atomically: true, encoding: .utf8)
        try await TestBackend.with(schema: schema, map: map, change) { backend in
            try await body(backend, OperatorDesk(uri: backend.uri, map: file))
        }
    }

    struct Answer {
        let status: Int32
        /// Standard output.
        let text: String
        /// Standard error.
        let errors: String

        var json: JSON { get throws { try JSON.parse(text) } }
    }

    func run(_ arguments: String...) async -> Answer { await run(arguments) }

    func run(_ arguments: [String]) async -> Answer {
        let lines = Lock<[String]>([])
        let errors = Lock<[String]>([])
        let seconds = TestOptions.deadline.components.seconds
        let environment = [
            // A machine that stands still does nothing within the times of production.
            "DATABASE_URI": "\(uri)?connect_timeout=\(seconds)",
            "STATEMENT_TIMEOUT_MS": String(seconds * 1_000), "LOCK_TIMEOUT_MS": String(seconds * 1_000),
            "PSB_TABLE_MAP": map, "POWERSYNC_URL": "http://x", "ENV": "development",
            "DEV_EPHEMERAL_KEYS": "1", "DEV_TOKENS": "1",
        ].merging(self.environment) { $1 }
        let command = BackendCommand.named(
            "powersync-backend", environment: { environment },
            output: { line in lines.withLock { $0.append(line) } })
        let status = await command.main(arguments, errors: { line in errors.withLock { $0.append(line) } })
        return Answer(
            status: status, text: lines.withLock { $0.joined(separator: "\n") },
            errors: errors.withLock { $0.joined(separator: "\n") })
    }
}

extension TestBackend {
    /// The ids of all dead letters, in the order of their coming.
    func letterIDs() async throws -> [String] {
        try await query("SELECT id FROM psb.dead_letters ORDER BY occurred_at").compactMap { $0.first ?? nil }
    }
}
