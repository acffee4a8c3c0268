import PowerSyncPostgres
import PowerSyncSystem

/// Whether the database answers and is this backend's, asked over a connection of its own (backend 8.3).
///
/// That uploads wait, for locks or for each other, does not make it say no: then a balancer would send their load to the
/// next instance, which waits for the same locks.
package actor Readiness {
    /// What the database says.
    package enum Answer: Sendable {
        /// That the schema `psb` has the version that this backend works with, or a newer one.
        case ready
        /// That it has an older one, or that there is none for this role to read.
        case unfit
        /// Nothing.
        case away
    }

    private let configuration: BackendConfiguration
    private let poller: Poller
    private var connection: PostgresConnection?
    private var last: (answer: Answer, at: ContinuousClock.Instant)?
    private var asking: Task<Answer, Never>?
    private var isClosed = false

    /// Makes a probe that has connected to nothing yet.
    package init(configuration: BackendConfiguration, poller: Poller) {
        self.configuration = configuration
        self.poller = poller
    }

    /// Asks the database, which takes `probeTimeout` at most, or gives the answer of less than two seconds ago.
    ///
    /// That it was not ready counts for one second, so that nobody hears of it two seconds after it has come back.
    package func answer() async -> Answer {
        if let last, ContinuousClock.now - last.at < (last.answer == .ready ? .seconds(2) : .seconds(1)) {
            return last.answer
        }
        let task = asking ?? Task { await ask(until: .now + configuration.probeTimeout) }
        asking = task
        let answer = await task.value
        if asking == task {
            asking = nil
            last = (answer, .now)
        }
        return answer
    }

    /// Ends the connection, and the question that is being asked.
    package func close() async {
        isClosed = true
        asking?.cancel()
        await forget()
    }

    private func ask(until end: ContinuousClock.Instant) async -> Answer {
        // That a session was ended says nothing of the server: it is asked again by another.
        while !isClosed, !Task.isCancelled, ContinuousClock.now < end {
            do {
                let (connection, isNew) = try await current(until: end)
                let heard = await question(connection, until: end)
                if heard != .away { return heard }
                await forget()
                if isNew { return .away }
            } catch {
                // Why, whoever uploads is told, and the log.
                return .away
            }
        }
        return .away
    }

    private func current(
        until end: ContinuousClock.Instant
    ) async throws -> (connection: PostgresConnection, isNew: Bool) {
        if let connection, await connection.isAlive { return (connection, false) }
        await forget()
        let made = try await PostgresConnection.connect(
            configuration.databaseURI, parameters: configuration.connectionParameters, poller: poller,
            deadline: ContinuousClock.now.duration(to: end))
        guard !isClosed else {
            await made.close()
            throw CancellationError()
        }
        connection = made
        return (made, true)
    }

    private func question(
        _ connection: PostgresConnection, until end: ContinuousClock.Instant
    ) async -> Answer {
        await withTaskGroup(of: Answer.self) { group in
            group.addTask {
                do {
                    let version = try await connection.query(
                        "SELECT max(version) FROM psb.schema_migrations"
                    ).scalar
                    // What a newer one does not bear it refuses by itself (6.2); until a backend of its version runs,
                    // everything else goes on.
                    return (version.flatMap { Int($0) } ?? 0) >= BackendSchema.version ? .ready : .unfit
                } catch let error as PostgresError where error.code == .server && !error.isConnectionLost {
                    return .unfit
                } catch {
                    return .away
                }
            }
            group.addTask { [poller] in
                // Cancelled as soon as there is an answer. The wait for one ends with the connection: putting that in order
                // would take longer than the answer may.
                if (try? await poller.sleep(until: end)) != nil { await connection.close() }
                return .away
            }
            let answer = await group.next() ?? .away
            group.cancelAll()
            return answer
        }
    }

    private func forget() async {
        let former = connection
        connection = nil
        await former?.close()
    }
}
