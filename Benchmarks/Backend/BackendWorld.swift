import PowerSyncStack

/// A private Postgres for all parts of a run, and the backend that is measured.
final class BackendWorld: Sendable {
    /// Whether a commit waits for the disk.
    let isDurable: Bool
    /// Where the databases are.
    let postgres: BenchmarkPostgres
    private let program: String

    /// Starts Postgres.
    ///
    /// - Parameters:
    ///   - isDurable: whether a commit waits for the disk.
    ///   - program: the path of the backend; nil for the `powersync-backend` that was built with this program.
    ///   - session: closes what is opened.
    /// - Throws: `CommandError` if there is no such program, errors of starting.
    init(isDurable: Bool, program: String?, session: Session) async throws {
        self.isDurable = isDurable
        self.program = try program ?? StackWorld.sibling("powersync-backend")
        postgres = try await BenchmarkPostgres(isDurable: isDurable, session: session)
    }

    /// What the tables say of it.
    var durability: String { isDurable ? "fsync on" : "fsync off" }

    /// The processor time that the server has taken so far, in seconds; nil elsewhere than on Linux.
    var processorTime: Double? { postgres.processorTime }

    /// Makes a database with tables, and removes it behind `body` with the backend that writes to it.
    ///
    /// - Parameters:
    ///   - tables: its tables.
    ///   - body: what is measured with it.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws, errors of making and removing.
    func with<Value: Sendable>(
        _ tables: UploadTables, _ body: (BackendSource) async throws -> Value
    ) async throws -> Value {
        try await postgres.with { place in
            let source = BackendSource(place, tables: tables, program: program, poller: postgres.poller)
            do {
                try await source.fill()
                let value = try await body(source)
                await source.end()
                return value
            } catch {
                await source.end()
                throw error
            }
        }
    }
}
