import PowerSyncCommandLine
import PowerSyncPostgresSource
import PowerSyncServiceEngine
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
        let failures = Lock(RepeatedFailures())
        return try await ServiceStore.open(
            path: file.path,
            readers: min(configuration.storeLimits.readers, configuration.maxDataFetchConcurrency),
            limits: configuration.storeLimits,
            onCheckpointFailure: { [log] failure in
                // It comes again with every few megabytes, and in different words where the thread does not begin either.
                guard failures.withLock({ $0.isNew("checkpoint", at: .now) }) else { return }
                log.warning("the log of the state does not become shorter", ["error": "\(failure)"])
            })
    }

    /// Asks the source whether a state is its own.
    private func ask(_ store: ServiceStore) async throws -> StateClaim {
        let source = PostgresSource(configuration, poller: poller, log: log, clock: clock)
        // How long the source may take to say who it is before the state is opened without it.
        let end = ContinuousClock.now + configuration.linkTimes.statement
        do {
            let claim = try await source.claims(store, until: end)
            await source.close()
            return claim
        } catch {
            await source.close()
            throw error
        }
    }
}
