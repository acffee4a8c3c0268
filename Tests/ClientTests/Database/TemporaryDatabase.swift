import Foundation
import PowerSync
import PowerSyncSystem

/// A folder of its own for each test, gone with the test.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/powersync-client-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        // A folder that cannot be removed is the system's to clean up.
        try? FileManager.default.removeItem(atPath: path)
    }

    func file(_ name: String = "test.db") -> String { path + "/" + name }
}

/// A database with the tables of the official tests.
struct TestDatabase {
    let folder: TemporaryFolder
    let database: any PowerSyncDatabaseProtocol
    let log: RecordingWriter

    static let schema = Schema(
        Table(
            name: "users",
            columns: [
                .text("name"), .text("email"), .integer("favorite_number"), .real("weight"),
                .integer("is_active"),
            ]),
        Table(name: "lists", columns: [.text("name")]),
        Table(name: "notes", columns: [.text("text")], trackPreviousValues: TrackPreviousValuesOptions()),
        Table(name: "events", columns: [.text("kind")], insertOnly: true),
        Table(name: "drafts", columns: [.text("text")], localOnly: true))

    init(
        folder: TemporaryFolder? = nil, name: String = "test.db", schema: Schema = Self.schema,
        initialStatements: [String] = []
    ) throws {
        let folder = try folder ?? TemporaryFolder()
        self.folder = folder
        log = RecordingWriter(keeping: folder)
        database = PowerSyncDatabase(
            schema: schema, dbFilename: name == ":memory:" ? name : folder.file(name),
            logger: DefaultLogger(writers: [log]), initialStatements: initialStatements)
    }

    func insertUser(_ name: String, id: String = UUID().uuidString) async throws {
        try await database.execute(
            sql: "INSERT INTO users (id, name, email) VALUES (?, ?, ?)",
            parameters: [id, name, "\(name)@example.org"])
    }

    func count(_ table: String) async throws -> Int {
        try await database.get("SELECT count(*) FROM \(table)") { try $0.getInt(index: 0) }
    }

    func target() async throws -> Int64? {
        try await database.writeTransaction { transaction in
            try transaction.get(
                sql: "SELECT powersync_control('target_checkpoint_request_id', NULL)", parameters: []
            ) { $0.getInt64Optional(index: 0) }
        }
    }
}

/// Keeps the log lines of a test, and the folder for as long as the database that logs here.
final class RecordingWriter: LogWriterProtocol {
    private let folder: TemporaryFolder?
    private let kept = Lock<[(severity: LogSeverity, message: String, tag: String?)]>([])

    init(keeping folder: TemporaryFolder? = nil) {
        self.folder = folder
    }

    var lines: [(severity: LogSeverity, message: String, tag: String?)] { kept.withLock { $0 } }

    func log(severity: LogSeverity, message: String, tag: String?) {
        kept.withLock { $0.append((severity, message, tag)) }
    }

    func warnings(containing text: String) -> Int {
        lines.count { $0.severity == .warning && $0.message.contains(text) }
    }
}
