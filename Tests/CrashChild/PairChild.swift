import Foundation
import PowerSync

/// A program that syncs and writes beside another one on the same database, until it is killed.
///
/// Arguments: the database, the endpoint of the service, the file of ``SharedProgress``, the file for uploads, the name of
/// the writer.
enum PairChild {
    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 5, let progress = SharedProgress(path: arguments[2]) else {
            throw Failure(message: "usage: pair DATABASE ENDPOINT PROGRESS UPLOADS WRITER")
        }
        let writer = arguments[4]
        let database = PowerSyncDatabase(
            schema: schema, dbFilename: arguments[0], logger: DefaultLogger(minSeverity: .error))
        let flow = database.currentStatus.asFlow()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for await status in flow { tell(status, progress) } }
            try await database.connect(
                connector: Connector(endpoint: arguments[1], uploads: arguments[3]),
                options: ConnectOptions(crudThrottle: 0.001, retryDelay: 0.05))
            var number = try await database.get(
                sql: "SELECT ifnull(max(number), 0) FROM journal WHERE writer = ?", parameters: [writer]
            ) { try $0.getInt64(index: 0) }
            while true {
                number += 1
                try await write(number, of: writer, to: database)
                progress.committed = number
                // A pace at which one uploads what two write.
                try await Task.sleep(for: .milliseconds(25))
            }
        }
    }

    private static func tell(_ status: any SyncStatusData, _ progress: SharedProgress) {
        progress.isElsewhere = status.isSyncedElsewhere
        if status.isSyncedElsewhere {
            progress.syncsSince = 0
        } else if progress.syncsSince == 0, status.connected || status.connecting {
            progress.syncsSince = SharedProgress.now
        }
    }

    /// Writes the transaction with that number of a writer.
    static func write(
        _ number: Int64, of writer: String, to database: any PowerSyncDatabaseProtocol
    ) async throws {
        try await database.writeTransaction { transaction in
            _ = try transaction.execute(
                sql: "INSERT INTO journal (id, writer, number) VALUES (?, ?, ?)",
                parameters: ["\(writer)\(number)", writer, number])
            for part in 0..<CrashChild.rowsOfTransaction {
                _ = try transaction.execute(
                    sql: "INSERT INTO parts (id, number, part) VALUES (?, ?, ?)",
                    parameters: ["\(writer)-\(number)-\(part)", number, part])
            }
        }
    }

    /// As that of ``CrashChild``, but that two write the journal.
    static let schema = Schema(
        Table(name: "lefts", columns: [.integer("version")]),
        Table(name: "rights", columns: [.integer("version")]),
        Table(name: "urgents", columns: [.integer("version")]),
        Table(name: "parts", columns: [.integer("number"), .integer("part")]),
        Table(name: "journal", columns: [.text("writer"), .integer("number")], localOnly: true))
}
