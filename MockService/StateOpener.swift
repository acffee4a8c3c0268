import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncSystem

/// Opens the state of the service, and sets it aside when it is none of this program or source.
struct StateOpener: Sendable {
    /// An open state.
    struct State: Sendable {
        let file: StateFile
        let store: ServiceStore
        /// Whether clients may be served from it before the source has been seen.
        let mayBeServed: Bool
    }

    let configuration: MockServiceConfiguration
    let poller: Poller
    let log: Log
    let clock: ServiceClock

    /// Opens the state.
    ///
    /// - Parameter file: Where it lies.
    /// - Returns: The state, a new one if that of the file cannot be used.
    /// - Throws: `SQLiteError`, `StoreError`.
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
            let isOurs = await isOurs(store)
            guard isOurs == false else {
                return State(
                    file: file, store: store,
                    mayBeServed: isOurs ?? (known.address == configuration.source.address))
            }
        } catch {
            await store.close()
            throw error
        }
        await store.close()
        return try await replaced(file)
    }

    /// Sets a state aside that belongs to another source, and opens a new one.
    ///
    /// The numbers of its streams go on, so that no client takes a bucket of the new state for one that it holds.
    ///
    /// - Parameters:
    ///   - file: Where it lies; nobody may have it open.
    ///   - reason: Why, in a sentence for the log.
    /// - Returns: The new state.
    /// - Throws: `SQLiteError`, `StoreError`.
    func replaced(
        _ file: StateFile,
        because reason: String = "It was made from another database, or from one before it was restored."
    ) async throws -> State {
        let last = ServiceStore.lastStreamNumber(path: file.path)
        let name = try file.setAside(at: clock.now())
        log.warning(
            "\(reason) The state was set aside and everything is replicated anew.", ["state.path": name])
        return State(file: file, store: try await openStore(file, after: last), mayBeServed: true)
    }

    private func openStore(_ file: StateFile, after last: StreamNumber = 0) async throws -> ServiceStore {
        try await ServiceStore.open(
            path: file.path, readers: configuration.maxDataFetchConcurrency, after: last)
    }

    /// Whether the source is the one of the state; nil if it cannot be asked now.
    private func isOurs(_ store: ServiceStore) async -> Bool? {
        let check = SourceCheck(source: configuration.source, store: store)
        let poller = poller
        // How long the source may take to say who it is before the state is opened without it.
        let patience = configuration.linkTimes.statement
        do {
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
                    try await poller.sleep(until: .now + patience)
                    return nil
                }
                defer { group.cancelAll() }
                return try await group.next() ?? nil
            }
        } catch {
            log.warning("the source cannot be asked whether the state is its own", ["error": "\(error)"])
            return nil
        }
    }
}
