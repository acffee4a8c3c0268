import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncSQLite
import PowerSyncSystem

/// Opens the state of the service, and sets it aside when it is none of this program or source.
package struct StateOpener: Sendable {
    /// An open state.
    struct State: Sendable {
        let file: StateFile
        let store: ServiceStore
        /// Whether clients may be served from it before the source has been seen.
        let mayBeServed: Bool
    }

    private static let otherSource =
        "It was made from another database, or from one before it was restored."

    let configuration: MockServiceConfiguration
    let poller: Poller
    let log: Log
    let clock: ServiceClock

    /// Makes an opener that has opened nothing yet.
    package init(configuration: MockServiceConfiguration, poller: Poller, log: Log, clock: ServiceClock) {
        self.configuration = configuration
        self.poller = poller
        self.log = log
        self.clock = clock
    }

    /// Opens the state.
    ///
    /// - Parameter file: Where it lies.
    /// - Returns: The state, a new one if that of the file cannot be used.
    /// - Throws: `SQLiteError`, `StoreError`, `CancellationError`.
    func open(_ file: StateFile) async throws -> State {
        let store: ServiceStore
        do {
            store = try await openStore(file)
        } catch let error as StoreError where error.isOtherVersion {
            return try await replaced(file, because: error.message)
        }
        do {
            guard let known = try await store.source() else {
                return State(file: file, store: store, mayBeServed: true)
            }
            switch try await ask(store) {
            case .itsOwn: return State(file: file, store: store, mayBeServed: true)
            case .away:
                return State(
                    file: file, store: store, mayBeServed: known.address == configuration.source.address)
            case .nothing: return State(file: file, store: store, mayBeServed: false)
            case .anothers: break
            }
        } catch {
            await store.close()
            throw error
        }
        await store.close()
        return try await replaced(file)
    }

    /// Sets a state aside that belongs to another source, and puts a new one in its place, which knows what clients were told.
    ///
    /// - Parameters:
    ///   - file: Where it lies; nobody may have it open.
    ///   - reason: Why, in a sentence for the log; nil if it is that of another source.
    /// - Throws: `SQLiteError` and `StoreError`, also if the state cannot be read for the moment; another call goes on.
    package func setAside(_ file: StateFile, because reason: String? = nil) async throws {
        let what = "\(reason ?? Self.otherSource) The state was set aside and everything is replicated anew."
        // The call before this one may have come half way: then the successor knows what clients were told.
        guard try !file.completeReplacement() else {
            log.warning(what)
            return
        }
        var former = FormerState()
        do {
            former = try FormerState(path: file.path)
        } catch let error as SQLiteError where !file.isThere || Self.isNoState(error) {
            log.warning(
                "the former state cannot be read: clients may wait for what they have uploaded until they upload again",
                ["error": "\(error)"])
        }
        file.removeSuccessor()
        try await ServiceStore.open(path: file.successor, readers: 1, after: former).close()
        let name = try file.replace(at: clock.now())
        log.warning(what, ["state.path": name])
    }

    /// Whether a file will not be read at another time either: it is damaged, or none of ours.
    private static func isNoState(_ error: SQLiteError) -> Bool {
        [.error, .corrupt, .notADatabase].contains(error.code)
    }

    private func replaced(_ file: StateFile, because reason: String? = nil) async throws -> State {
        try await setAside(file, because: reason)
        return State(file: file, store: try await openStore(file), mayBeServed: true)
    }

    private func openStore(_ file: StateFile) async throws -> ServiceStore {
        try await ServiceStore.open(
            path: file.path,
            readers: min(configuration.storeLimits.readers, configuration.maxDataFetchConcurrency),
            limits: configuration.storeLimits)
    }

    /// What the source says of a state.
    private enum Answer {
        case itsOwn
        case anothers
        /// It cannot be reached, starts or stops, or a standby answers for it: a state of the same address may be served meanwhile.
        case away
        /// It is there and does not say who it is: it may have been set back, and what the state has never have been.
        case nothing
    }

    /// Asks the source whether a state is its own, again and again while it refuses to answer.
    private func ask(_ store: ServiceStore) async throws -> Answer {
        // How long the source may take to say who it is before the state is opened without it.
        let end = ContinuousClock.now + configuration.linkTimes.statement
        var delay = RetryDelay()
        var failures = RepeatedFailures()
        var answer = Answer.away
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
                let next = ContinuousClock.now + delay.next(after: error, jitter: clock.random())
                guard next < end else { return answer }
                try await poller.sleep(until: next)
            }
        }
    }

    /// Whether the source is the one of the state; nil if it has not said so in time.
    private func isOurs(_ store: ServiceStore, until end: ContinuousClock.Instant) async throws -> Bool? {
        let check = SourceCheck(source: configuration.source, store: store)
        let poller = poller
        return try await withThrowingTaskGroup(of: Bool?.self) { group in
            group.addTask {
                let connection = try await configuration.source.connectForReplication(poller)
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
