import PowerSyncPostgresServer
import PowerSyncStack
import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A private Postgres for all parts of a run, in which each has databases of its own.
final class BenchmarkPostgres: Sendable {
    /// A database that is there and empty.
    struct Place: Sendable {
        /// Where it is.
        let uri: String
        /// What it is called.
        let name: String
        /// A folder for what its programs need and say, which is not made yet.
        let folder: String
    }

    /// The poller of the run.
    let poller: Poller
    /// A folder for what parts write; it goes with the session.
    let folder: String
    private let server: PostgresServer
    private let count = Lock(0)

    /// Starts it.
    ///
    /// - Parameters:
    ///   - isDurable: whether a commit waits for the disk.
    ///   - session: closes what is opened.
    /// - Throws: errors of starting.
    init(isDurable: Bool, session: Session) async throws {
        folder = try session.temporaryFolder()
        let poller = try session.poller()
        self.poller = poller
        let database = StackDatabase(.cluster(directory: nil), isDurable: isDurable, poller: poller)
        session.onEnd { try await database.close() }
        try await database.open()
        guard let server = database.server else {
            throw BenchmarkError("the private Postgres was not started")
        }
        self.server = server
    }

    /// The processor time that the server has taken so far, in seconds; nil elsewhere than on Linux.
    var processorTime: Double? { ProcessorTime.ofFamily(server.processID) }

    /// Makes a database, and removes it behind `body`; where that fails the database goes with the server.
    ///
    /// - Parameter body: what is done with it; whoever uses it has ended when it returns.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws, errors of making and removing.
    func with<Value: Sendable>(_ body: (Place) async throws -> Value) async throws -> Value {
        let name = count.withLock { count in
            count += 1
            return "bench_\(count)"
        }
        let uri = try await server.createDatabase(name, poller: poller)
        let value = try await body(Place(uri: uri, name: name, folder: "\(folder)/\(name)"))
        try await server.dropDatabase(name, poller: poller)
        return value
    }

    /// Returns what the server has logged so far.
    ///
    /// - Throws: an error of reading.
    func log() throws -> String {
        try String(contentsOfFile: server.temporaryFolder + "/log", encoding: .utf8)
    }

    /// Returns the path of a program that comes with Postgres.
    ///
    /// - Parameter name: the program.
    /// - Returns: its path.
    /// - Throws: `PostgresServerError` without a Postgres, `BenchmarkError` without the program.
    func program(_ name: String) async throws -> String {
        let path = try await PostgresBinaries.find().directory + "/" + name
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw BenchmarkError("\(path) is not there: this Postgres has come without it")
        }
        return path
    }
}
