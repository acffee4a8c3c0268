import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresSource
import PowerSyncSyncRules
import PowerSyncSystem

/// Where the tables stand that a configuration is checked with.
enum SchemaSource: Sendable, Hashable {
    /// A file of SQL that makes them.
    case file(String)
    /// A database that has them.
    case database(uri: String)

    /// Takes the word of a command line: a connection text of libpq in either of its forms, else a path.
    init(_ word: String) {
        let isURI = word.hasPrefix("postgresql:") || word.hasPrefix("postgres:")
        self = isURI || (word.contains("=") && !word.hasSuffix(".sql")) ? .database(uri: word) : .file(word)
    }

    /// Reads the tables.
    ///
    /// - Parameter session: Closes what is opened: a file is run on a private Postgres.
    /// - Returns: The tables.
    /// - Throws: `StackError` that says which file or database it is about; `CancellationError`.
    func read(_ session: Session) async throws -> SourceSchema {
        let poller = try session.poller()
        switch self {
        case .database(let uri):
            do {
                return try await PostgresConnection.with(uri, poller: poller) { connection in
                    try await SourceSchemaReader.read(connection)
                }
            } catch let error as PostgresError {
                throw StackError(.database, "\(PostgresURI.withoutPassword(uri)): \(error)")
            }
        case .file(let path):
            let sql = try TextFile.read(path)
            let database = StackDatabase(.cluster(directory: nil), isDurable: false, poller: poller)
            session.onEnd { try await database.close() }
            do {
                try await database.open()
            } catch let error as PostgresServerError {
                throw StackError(.database, "\(path) is run on a private Postgres, which is needed: \(error)")
            }
            do {
                return try await PostgresConnection.with(try database.uri, poller: poller) { connection in
                    try await connection.script(sql)
                    return try await SourceSchemaReader.read(connection)
                }
            } catch let error as PostgresError {
                throw StackError(.file, "\(path): \(error)")
            }
        }
    }
}
