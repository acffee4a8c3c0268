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

    /// How long the source may take to say who it is before the state is opened without it.
    private static let patience = Duration.seconds(10)

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
            try setAside(file, because: error.message)
            return State(file: file, store: try await openStore(file), mayBeServed: true)
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
    /// - Parameter file: Where it lies; nobody may have it open.
    /// - Returns: The new state.
    /// - Throws: `SQLiteError`, `StoreError`.
    func replaced(_ file: StateFile) async throws -> State {
        try setAside(file, because: "It was made from another database, or from one before it was restored.")
        return State(file: file, store: try await openStore(file), mayBeServed: true)
    }

    private func openStore(_ file: StateFile) async throws -> ServiceStore {
        try await ServiceStore.open(path: file.path, readers: configuration.maxDataFetchConcurrency)
    }

    private func setAside(_ file: StateFile, because reason: String) throws {
        let name = try file.setAside(at: clock.now())
        log.warning(
            "\(reason) The state was set aside and everything is replicated anew.", ["state.path": name])
    }

    /// Whether the source is the one of the state; nil if it cannot be asked now.
    private func isOurs(_ store: ServiceStore) async -> Bool? {
        let check = SourceCheck(source: configuration.source, store: store)
        let poller = poller
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
                    try await poller.sleep(until: .now + Self.patience)
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
