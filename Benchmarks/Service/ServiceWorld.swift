import PowerSyncStack
import PowerSyncSystem

/// A private Postgres, as durable as one in production, and one reader, for all parts of a run.
final class ServiceWorld: Sendable {
    /// How long a first sync may take, with the snapshot before it.
    private static let patience = Duration.seconds(1800)
    /// How long an awaited operation may take.
    private static let arrivalLimit = Duration.seconds(600)

    /// Reads all streams.
    let reader: LineReader
    /// Where the databases are.
    let postgres: BenchmarkPostgres
    private let program: String

    /// Starts Postgres and the reader.
    ///
    /// - Parameters:
    ///   - program: the path of the service; nil for the `powersync-mock-service` that was built with this program.
    ///   - session: closes what is opened.
    /// - Throws: `CommandError` if there is no such program, errors of starting.
    init(program: String?, session: Session) async throws {
        self.program = try program ?? StackWorld.sibling("powersync-mock-service")
        let reader = try LineReader()
        session.onEnd { reader.stop() }
        self.reader = reader
        postgres = try await BenchmarkPostgres(isDurable: true, session: session)
    }

    // MARK: Sources

    /// Makes a database with tables, and removes it behind `body` with the service that replicates it.
    ///
    /// - Parameters:
    ///   - tables: its tables.
    ///   - body: what is measured with it.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws, errors of making and removing.
    func with<Value: Sendable>(
        _ tables: ServiceTables, _ body: (ServiceSource) async throws -> Value
    ) async throws -> Value {
        try await postgres.with { place in
            let source = ServiceSource(
                place.uri, syncConfig: tables.syncConfig, folder: place.folder, program: program,
                poller: postgres.poller)
            do {
                try await source.fill(tables.sql)
                let value = try await body(source)
                try await source.stop()
                return value
            } catch {
                await source.end()
                throw error
            }
        }
    }

    // MARK: Streams

    /// Opens a stream of a service as soon as it gives one, and waits for its first sync.
    ///
    /// - Parameters:
    ///   - service: the service, which may be reading its source yet.
    ///   - user: the user.
    ///   - client: what the client calls itself.
    ///   - operations: how many operations must come; nil for any number.
    /// - Returns: the stream, which stays open.
    /// - Throws: `StackError` with `.partEnded` if the service ends, with `.deadline`; `BenchmarkError`.
    func firstStream(
        of service: MeasuredService, user: String = "u1", client: String = "reader", operations: Int?
    ) async throws -> ReadStream {
        let request = StreamRequest(port: service.port, user: user, client: client)
        return try await Deadline.wait(Self.patience, for: "a first sync") { () async throws -> ReadStream? in
            try service.requireLife()
            let stream = reader.open(request)
            let progress = try await Deadline.wait(
                Self.patience, pause: .milliseconds(1), for: "an answer of the service"
            ) { () async throws -> ReadStream.Progress? in
                let progress = stream.progress
                return progress.complete != nil || progress.failure != nil ? progress : nil
            }
            guard progress.complete != nil else {
                reader.close([stream])
                return nil
            }
            if let operations { try Self.require(operations, of: progress) }
            return stream
        }
    }

    /// Waits until streams have their first sync.
    ///
    /// - Parameters:
    ///   - streams: the streams.
    ///   - operations: how many operations each must have got.
    /// - Throws: `BenchmarkError` if one has ended before or has got another number, `StackError` with `.deadline`.
    func complete(_ streams: [ReadStream], operations: Int) async throws {
        try await Deadline.wait(Self.patience, for: "\(streams.count) first syncs") {
            () async throws -> Bool? in
            for stream in streams {
                let progress = stream.progress
                if progress.complete != nil { continue }
                if let failure = progress.failure { throw BenchmarkError("a stream has failed: \(failure)") }
                return nil
            }
            return true
        }
        for stream in streams { try Self.require(operations, of: stream.progress) }
    }

    private static func require(_ operations: Int, of progress: ReadStream.Progress) throws {
        guard progress.operations != operations else { return }
        throw BenchmarkError("a first sync had \(progress.operations) operations in place of \(operations)")
    }

    /// Waits until the operation that streams look out for has come to all of them.
    ///
    /// - Parameter streams: the streams.
    /// - Returns: when it came to each.
    /// - Throws: `BenchmarkError` if one has ended, `StackError` with `.deadline`.
    func arrivals(at streams: [ReadStream]) async throws -> [ContinuousClock.Instant] {
        try await Deadline.wait(Self.arrivalLimit, pause: .milliseconds(1), for: "an operation to arrive") {
            () async throws -> [ContinuousClock.Instant]? in
            var moments: [ContinuousClock.Instant] = []
            for stream in streams {
                guard let moment = stream.arrival else {
                    if let failure = stream.progress.failure {
                        throw BenchmarkError("a stream has failed: \(failure)")
                    }
                    return nil
                }
                moments.append(moment)
            }
            return moments
        }
    }

    /// Records the stream of one client, and lets a canned server send it to others while `body` runs.
    ///
    /// - Parameters:
    ///   - service: the service, which is warm.
    ///   - user: the user whose stream it is.
    ///   - operations: how many operations its first sync has.
    ///   - body: gets the server and its port.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws, errors of the server.
    func canned<Value: Sendable>(
        _ service: MeasuredService, user: String = "u1", operations: Int,
        _ body: @escaping @Sendable (CannedService, Int) async throws -> Value
    ) async throws -> Value {
        let canned = try CannedService(of: "http://127.0.0.1:\(service.port)", poller: postgres.poller)
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask {
                await canned.run()
                return nil
            }
            group.addTask { [self] in
                let recorded = reader.open(StreamRequest(port: canned.port, user: user, client: "recorded"))
                try await complete([recorded], operations: operations)
                canned.replay()
                reader.close([recorded])
                return try await body(canned, canned.port)
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() ?? nil else {
                throw BenchmarkError("the canned server has ended")
            }
            return value
        }
    }
}
