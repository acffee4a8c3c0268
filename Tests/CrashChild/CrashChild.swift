import Foundation
import PowerSync

/// A program that syncs and writes until it is killed.
///
/// Arguments: the database, the endpoint of the service, the file of ``SharedProgress``, the file for uploads; or
/// `start` or `pair` and those of ``StartChild`` and ``PairChild``.
package enum CrashChild {
    /// Rows of each local transaction.
    package static let rowsOfTransaction = 3
    /// The line that stands among the uploads if somebody uploads while another one does.
    package static let overlap = "two upload at once"
    /// What the name of a file has behind that of the uploads which is there while one of two programs is killed.
    package static let killing = ".killing"

    static func main() async {
        let arguments = CommandLine.arguments
        do {
            switch arguments.dropFirst().first {
            case "start": try await StartChild.run(Array(arguments.dropFirst(2)))
            case "pair": try await PairChild.run(Array(arguments.dropFirst(2)))
            default: try await run(arguments)
            }
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) async throws {
        guard arguments.count == 5, let progress = SharedProgress(path: arguments[3]) else {
            throw Failure(message: "usage: DATABASE ENDPOINT PROGRESS UPLOADS")
        }
        StatementWatch.start(progress)
        let database = PowerSyncDatabase(
            schema: schema, dbFilename: arguments[1], logger: DefaultLogger(minSeverity: .error))
        let connector = try Connector(endpoint: arguments[2], uploads: arguments[4])
        try await database.connect(
            connector: connector, options: ConnectOptions(crudThrottle: 0.001, retryDelay: 0.05))
        var number = try await database.get("SELECT ifnull(max(number), 0) FROM journal") {
            try $0.getInt64(index: 0)
        }
        while true {
            // From one to six, in an order that every run repeats.
            for _ in 0...(UInt64(bitPattern: number) &* 0x9E37_79B9_7F4A_7C15) >> 40 % 6 {
                number += 1
                try await write(number, to: database)
                progress.committed = number
            }
            try await letSyncPublish(database)
        }
    }

    private static func write(_ number: Int64, to database: any PowerSyncDatabaseProtocol) async throws {
        try await database.writeTransaction { transaction in
            _ = try transaction.execute(
                sql: "INSERT INTO journal (id, number) VALUES (?, ?)",
                parameters: ["j\(number)", number])
            for part in 0..<rowsOfTransaction {
                _ = try transaction.execute(
                    sql: "INSERT INTO parts (id, number, part) VALUES (?, ?, ?)",
                    parameters: ["\(number)-\(part)", number, part])
            }
        }
    }

    /// Waits a moment for a checkpoint to get through: nothing is published while local writes wait.
    private static func letSyncPublish(_ database: any PowerSyncDatabaseProtocol) async throws {
        let before = try await version(database)
        for _ in 0..<500 where try await version(database) == before {
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    private static func version(_ database: any PowerSyncDatabaseProtocol) async throws -> Int64 {
        try await database.get("SELECT ifnull(max(version), 0) FROM lefts") { try $0.getInt64(index: 0) }
    }

    /// `lefts` and `rights` always change together, `urgents` before them; the others are the app's own.
    private static let schema = Schema(
        Table(name: "lefts", columns: [.integer("version")]),
        Table(name: "rights", columns: [.integer("version")]),
        Table(name: "urgents", columns: [.integer("version")]),
        Table(name: "parts", columns: [.integer("number"), .integer("part")]),
        Table(name: "journal", columns: [.integer("number")], localOnly: true))
}

/// Writes each transaction that it uploads into a file, which is the backend.
final class Connector: PowerSyncBackendConnectorProtocol {
    private let endpoint: String
    private let uploads: Int32
    private let path: String

    init(endpoint: String, uploads path: String) throws {
        self.endpoint = endpoint
        self.path = path
        uploads = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        guard uploads >= 0 else { throw Failure(message: "cannot open \(path)") }
    }

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        PowerSyncCredentials(endpoint: endpoint, token: "token")
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        if flock(uploads, LOCK_EX | LOCK_NB) != 0 {
            // The system frees the locks of a process that was killed one after the other, this one behind the right to sync.
            guard access(path + CrashChild.killing, F_OK) == 0 else {
                try append(CrashChild.overlap + "\n")
                throw Failure(message: CrashChild.overlap)
            }
            flock(uploads, LOCK_EX)
        }
        defer { flock(uploads, LOCK_UN) }
        guard let transaction = try await database.getNextCrudTransaction() else { return }
        let lines = transaction.crud.map { entry in
            "\(entry.clientId) \(entry.transactionId ?? 0) \(entry.op.rawValue) \(entry.table) \(entry.id)\n"
        }
        try append(lines.joined())
        try await transaction.complete()
    }

    private func append(_ text: String) throws {
        let bytes = Array(text.utf8)
        // One call: a file never holds half a transaction.
        guard Foundation.write(uploads, bytes, bytes.count) == bytes.count else {
            throw Failure(message: "cannot write down an upload")
        }
    }
}

struct Failure: Error, CustomStringConvertible {
    let message: String
    var description: String { message }
}
