import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncServiceEngine
import PowerSyncSystem

/// A database of Postgres as the source of one state.
package final class PostgresSource: ChangeSource {
    /// Connections for requests of clients and of operators.
    package let pool: PostgresPool
    private let database: SourceDatabase
    private let servers = LinkedServers()
    private let times: LinkTimes
    private let slotPrefix: String
    private let heartbeat: Duration
    private let poller: Poller
    private let log: Log
    private let random: @Sendable () -> Double

    /// Makes a source that has connected to nothing yet.
    ///
    /// - Parameters:
    ///   - database: How it is reached.
    ///   - times: How long what may take.
    ///   - slotPrefix: What the names of its replication slots begin with.
    ///   - heartbeat: How often the log is moved on while nothing is committed.
    ///   - poller: Must outlive the source.
    ///   - log: Is told why it cannot be asked whose a state is.
    ///   - random: Draws from 0 to 1, for the time between two tries.
    package init(
        _ database: SourceDatabase, times: LinkTimes, slotPrefix: String, heartbeat: Duration, poller: Poller,
        log: Log, random: @escaping @Sendable () -> Double
    ) {
        self.database = database
        self.times = times
        self.slotPrefix = slotPrefix
        self.heartbeat = heartbeat
        self.poller = poller
        self.log = log
        self.random = random
        pool = database.pool(patience: times.statement, poller)
    }

    /// The configuration's words for the database, hashed and without user and password.
    package var address: String { database.address }

    /// Replicates one configuration.
    package func replicate(_ work: ReplicationWork) async throws {
        let replicator = Replicator(
            source: database, store: work.store, publisher: work.publisher, frames: work.frames,
            servers: servers, poller: poller, log: work.log, metrics: work.metrics, plan: work.plan,
            configText: work.configText, configHash: work.configHash, formerStream: work.formerStream,
            slotPrefix: slotPrefix, heartbeat: heartbeat, times: times, health: work.health, random: random,
            warnings: work.warnings)
        do {
            try await replicator.run()
        } catch let error as ReplicationError where error.code == .otherSource {
            throw OtherSource()
        }
    }

    /// Where the log is now, of the server that the links lead to.
    package func head() async throws -> LSN {
        try await pool.withConnection { [servers] in try await servers.position($0) }
    }

    /// Writes a message into the log.
    package func mark() async throws {
        try await pool.withConnection { try await SourceCatalog.ping($0) }
    }

    /// Closes the connections for requests.
    package func close() async { await pool.close() }

    /// Asks the source whether a state is its own, again and again while it refuses to answer.
    package func claims(
        _ store: ServiceStore, until end: ContinuousClock.Instant
    ) async throws -> StateClaim {
        var delay = RetryDelay()
        var failures = RepeatedFailures()
        var answer = StateClaim.away
        while true {
            do {
                guard let isOurs = try await isOurs(store, until: end) else { return answer }
                return isOurs ? .itsOwn : .anothers
            } catch {
                try Task.checkCancellation()
                if failures.isNew("\(error)", at: .now) {
                    log.warning(
                        "the source cannot be asked whether the state is its own", ["error": "\(error)"])
                }
                if (error as? ReplicationError)?.code == .standby { return .away }
                guard let error = error as? PostgresError else { return .nothing }
                // Only a server that is there has a code for what is wrong, such as that all its walsenders are taken.
                guard error.sqlstate != nil else { return answer }
                if !error.isConnectionLost { answer = .nothing }
                let next = ContinuousClock.now + delay.next(after: error, jitter: random())
                guard next < end else { return answer }
                try await poller.sleep(until: next)
            }
        }
    }

    /// Whether the source is the one of the state; nil if it has not said so in time.
    private func isOurs(_ store: ServiceStore, until end: ContinuousClock.Instant) async throws -> Bool? {
        let (database, poller) = (database, poller)
        let check = SourceCheck(source: database, store: store)
        return try await withThrowingTaskGroup(of: Bool?.self) { group in
            group.addTask {
                let connection = try await database.connectForReplication(poller)
                do {
                    let isOurs = try await check.isOurs(connection)
                    await connection.close()
                    return isOurs
                } catch {
                    await connection.close()
                    throw error
                }
            }
            group.addTask {
                try await poller.sleep(until: end)
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }
}
