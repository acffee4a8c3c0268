import PowerSyncCrypto

/// Keys fetched from an address and kept for a while (service 2.3).
package actor RemoteKeys {
    /// Fetches an address; the time is the most it may take.
    package typealias Fetch = @Sendable (_ uri: String, _ timeout: Duration) async throws -> [UInt8]

    private static let freshFor = 300.0
    private static let usableFor = 3600.0
    /// So many fetches within so many seconds are made for names of keys that were not found.
    private static let misses = (count: 10, seconds: 60.0)

    private let uri: String
    private let fetch: Fetch
    private let now: @Sendable () -> Double
    private var keys: [JSONWebKey] = []
    private var fetchedAt: Double?
    private var running: Task<[JSONWebKey], any Error>?
    private var missTimes: [Double] = []

    /// Makes a store that has fetched nothing yet.
    ///
    /// - Parameters:
    ///   - uri: The address of a JSON Web Key Set.
    ///   - now: Seconds since 1970.
    ///   - fetch: Fetches it.
    package init(uri: String, now: @escaping @Sendable () -> Double, fetch: @escaping Fetch) {
        self.uri = uri
        self.now = now
        self.fetch = fetch
    }

    /// The keys: at once while they are usable, else after fetching them.
    ///
    /// - Throws: `AuthorizationError` if there are none and they cannot be fetched.
    package func current() async throws -> [JSONWebKey] {
        if let fetchedAt, now() - fetchedAt < Self.usableFor {
            if now() - fetchedAt >= Self.freshFor { _ = refresh(timeout: .seconds(30)) }
            return keys
        }
        return try await result(of: refresh(timeout: .seconds(3)))
    }

    /// Fetches the keys again because one was missing, unless that happened too often.
    package func currentAfterMiss() async throws -> [JSONWebKey] {
        missTimes = missTimes.filter { now() - $0 < Self.misses.seconds }
        guard missTimes.count < Self.misses.count else { return keys }
        missTimes.append(now())
        return try await result(of: refresh(timeout: .seconds(3)))
    }

    private func result(of task: Task<[JSONWebKey], any Error>) async throws -> [JSONWebKey] {
        do {
            return try await task.value
        } catch {
            try Task.checkCancellation()
            throw AuthorizationError("PSYNC_S2204", "Failed to fetch the keys from the configured jwks_uri")
        }
    }

    private func refresh(timeout: Duration) -> Task<[JSONWebKey], any Error> {
        if let running { return running }
        let task = Task { [uri, fetch] in
            do {
                // Shared secrets are never taken from the network.
                let keys = try JSONWebKeySet(json: try await fetch(uri, timeout)).keys
                finish(keys)
                return keys
            } catch {
                finish(nil)
                throw error
            }
        }
        running = task
        return task
    }

    private func finish(_ fetched: [JSONWebKey]?) {
        running = nil
        guard let fetched else { return }
        keys = fetched
        fetchedAt = now()
    }
}
