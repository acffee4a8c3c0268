import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncWire

@testable import PowerSync

/// The client core on a file, with a second connection that looks at every committed state.
final class ClientUnderTest {
    private let path: String
    private(set) var writer: SQLiteConnection
    private var reader: SQLiteConnection
    /// The committed states since the last call of ``takeObserved()``, without repetition.
    private var observed: [DatabaseText] = []
    private var failure: (any Error)?

    init(directory: String, template: String) throws {
        path = directory + "/client.db"
        try Self.copy(template, to: path)
        (writer, reader) = try Self.open(path)
        watch()
    }

    /// Makes a file with the schema, to be copied for each session.
    static func makeTemplate(_ path: String) throws {
        let connection = try SQLiteConnection(path: path)
        defer { connection.close() }
        try connection.execute("PRAGMA journal_mode = WAL")
        try SyncBench.prepare(connection, schema: schema)
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    private static let columns = """
        "columns":[{"name":"title","type":"text"},{"name":"n","type":"integer"}]
        """
    private static let schema = """
        {"tables":[{"name":"todos",\(columns)},{"name":"lists",\(columns)},\
        {"name":"notes","insert_only":true,\(columns)},{"name":"drafts","local_only":true,\(columns)}]}
        """

    private static func copy(_ from: String, to path: String) throws {
        let source = try SQLiteConnection(path: from)
        defer { source.close() }
        try source.run("VACUUM INTO ?1", [.text(path)])
    }

    private static func open(_ path: String) throws -> (SQLiteConnection, SQLiteConnection) {
        let writer = try SQLiteConnection(path: path, flags: .readWrite)
        try writer.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -51200")
        try CoreExtension.install(on: writer)
        try SyncFunctions.register(on: writer)
        return (writer, try SQLiteConnection(path: path, flags: .readWrite))
    }

    /// Before a commit the file shows what the one before it left.
    private func watch() {
        writer.onCommit { [unowned self] in
            do {
                try look()
            } catch {
                failure = error
            }
        }
    }

    private func look() throws {
        let text = try DatabaseText.read(reader)
        if text != observed.last { observed.append(text) }
    }

    /// Returns the states that were committed since the last call; the last one is the state now.
    func takeObserved() throws -> [DatabaseText] {
        if let failure { throw failure }
        try look()
        defer { observed = [] }
        return observed
    }

    /// Closes the file and opens it again.
    func reopen() throws {
        close()
        (writer, reader) = try Self.open(path)
        watch()
    }

    func close() {
        writer.close()
        reader.close()
    }

    /// Runs `body` while another connection holds the lock for writing.
    func whileLocked<T>(_ body: () throws -> T) throws -> T {
        try reader.execute("BEGIN IMMEDIATE")
        defer { reader.rollBack() }
        return try body()
    }

    func integrity() throws -> String {
        try writer.one("PRAGMA integrity_check") { $0.string(0) } ?? ""
    }

    // MARK: What the app does

    func lend<T>(_ body: (any ConnectionContext) throws -> T) throws -> T {
        try ConnectionLease.lend(writer, to: body).get(loggingTo: DefaultLogger(minSeverity: .error))
    }

    /// Runs one statement of the app inside its transaction.
    func run(_ statement: LocalStatement) throws { try writer.run(statement) }

    /// The transaction that an upload takes next: the id of its last entry, and the entries.
    func nextUpload() throws -> (last: Int64, transaction: Int64, entries: [String])? {
        let rows = try writer.query(CrudQueue.nextTransaction, [.integer(-1)]) {
            (id: $0.int64(0), transaction: $0.int64(1), data: $0.string(2))
        }
        guard let last = rows.last else { return nil }
        return (last.id, last.transaction, rows.map(\.data))
    }

    func completeUpload(through last: Int64, writeCheckpoint: Int64?) throws {
        try lend { connection in
            try TransactionContext.run(on: connection) {
                try CrudQueue.complete(
                    through: last, writeCheckpoint: writeCheckpoint.map(String.init), in: $0)
            }
        }
    }

    /// Ids and transaction ids of the queue, in order.
    func queueNumbers() throws -> [(id: Int64, transaction: Int64)] {
        try writer.query("SELECT id, tx_id FROM ps_crud ORDER BY id") { ($0.int64(0), $0.int64(1)) }
    }
}
