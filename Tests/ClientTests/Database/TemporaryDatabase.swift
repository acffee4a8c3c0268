import Foundation
import PowerSyncSystem

@testable import PowerSync

extension TemporaryDirectory {
    /// A folder for one test, gone with the last who holds it.
    convenience init() throws(SystemError) { try self.init(prefix: "powersync-client-") }

    /// The path of a file in it.
    func file(_ name: String = "test.db") -> String { "\(path)/\(name)" }
}

/// A database with the tables of the official tests.
struct TestDatabase {
    let folder: TemporaryDirectory
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
        folder: TemporaryDirectory? = nil, name: String = "test.db", schema: Schema = Self.schema,
        initialStatements: [String] = [], environment: SyncEnvironment? = nil
    ) throws {
        let folder = try folder ?? TemporaryDirectory()
        self.folder = folder
        log = RecordingWriter(keeping: folder)
        let (file, logger) = (
            name == ":memory:" ? name : folder.file(name), DefaultLogger(writers: [log])
        )
        guard let environment else {
            database = PowerSyncDatabase(
                schema: schema, dbFilename: file, logger: logger, initialStatements: initialStatements)
            return
        }
        database = LocalDatabase(
            schema: schema,
            location: Result { () throws(PowerSyncError) in try DatabaseLocation(named: file) },
            logger: logger, initialStatements: initialStatements, groups: .shared, environment: environment)
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
    private let folder: TemporaryDirectory?
    private let kept = Lock<[(severity: LogSeverity, message: String, tag: String?)]>([])

    init(keeping folder: TemporaryDirectory? = nil) {
        self.folder = folder
    }

    var lines: [(severity: LogSeverity, message: String, tag: String?)] { kept.withLock { $0 } }

    func log(severity: LogSeverity, message: String, tag: String?) {
        kept.withLock { $0.append((severity, message, tag)) }
    }

    func has(_ text: String) -> Bool { lines.contains { $0.message.contains(text) } }

    func warnings(containing text: String) -> Int {
        lines.count { $0.severity == .warning && $0.message.contains(text) }
    }
}
