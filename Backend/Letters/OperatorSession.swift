import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncWire

/// What the commands for operators have in common: the environment that names the database, and where they write.
struct OperatorSession: Sendable {
    /// The environment, read when a command runs.
    let environment: @Sendable () -> [String: String]
    /// Writes a text and the end of a line.
    let output: @Sendable (String) -> Void

    static let readFile: @Sendable (String) throws -> String = { try FileBytes.text(ofFile: $0) }

    /// The option of every command that prints.
    static let jsonOption = Option("--json", help: "Print JSON, for programs.")

    static let times = Variable("STATEMENT_TIMEOUT_MS, LOCK_TIMEOUT_MS", help: "10000 and 3000 by default.")

    /// What every command reads of the environment.
    static let database = [
        Variable(
            "DATABASE_URI", help: "The backend's database, or DATABASE_URI_FILE: the file that has it."),
        times,
    ]

    /// Connects to the backend's database as the backend does.
    func withConnection<Value: Sendable>(
        _ body: (PostgresConnection) async throws -> Value
    ) async throws -> Value {
        let database = try BackendConfiguration.ofDatabase(
            environment: environment(), readFile: Self.readFile)
        let poller = try Poller()
        defer { poller.stop() }
        let connection: PostgresConnection
        do {
            connection = try await PostgresConnection.connect(
                database.databaseURI, parameters: database.connectionParameters, poller: poller)
        } catch let error as PostgresError {
            throw OperatorFailure.explained(database.advised(error))
        } catch {
            throw OperatorFailure.explained(error)
        }
        do {
            let value = try await body(connection)
            await connection.close()
            return value
        } catch {
            await connection.close()
            throw OperatorFailure.explained(error)
        }
    }

    /// Reads how long a migration may take; nil if the environment does not say.
    func migrationTimeout() throws(BackendError) -> Duration? {
        try BackendConfiguration.migrationTimeout(environment: environment(), readFile: Self.readFile)
    }

    /// Opens the database as a backend does that is configured by the environment.
    func withApplier<Value: Sendable>(_ body: (UploadApplier) async throws -> Value) async throws -> Value {
        let configuration = try BackendConfiguration(environment: environment(), readFile: Self.readFile)
        let poller = try Poller()
        defer { poller.stop() }
        let backend = Backend(
            configuration: configuration, poller: poller, log: Log(label: "backend", level: .warning))
        do {
            return try await backend.withApplier(body)
        } catch {
            throw OperatorFailure.explained(error)
        }
    }

    /// Prints a text for people.
    func print(_ text: String) { output(text) }

    /// Prints values for programs; a terminal may read them, too.
    func print(_ json: JSON) { output(TextTable.escaped(json)) }

    /// Finds the letter that an id, or the beginning of one, names.
    func letter(_ id: String, on connection: PostgresConnection) async throws -> StoredLetter {
        let prefix = id.lowercased()
        let isPrefix =
            (4...36).contains(prefix.utf8.count)
            && prefix.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte) || byte == 0x2D
            }
        guard isPrefix else {
            throw CommandError(
                "\"\(TextTable.shown(id, most: 40))\" is no id: take one of letters list, or its first four digits "
                    + "or more", exitStatus: CommandError.usageStatus)
        }
        let found = try await DeadLetterTable.find(prefix, on: connection)
        guard let letter = found.first else { throw CommandError("there is no dead letter \(prefix)") }
        guard found.count == 1 else {
            throw CommandError("several dead letters begin with \(prefix): give more of the id")
        }
        return letter
    }
}
