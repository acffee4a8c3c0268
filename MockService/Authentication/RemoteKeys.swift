import PowerSyncCrypto
import PowerSyncServiceEngine

/// Keys fetched from an address and kept for a while (service 2.3).
///
/// A fetch may take longer than those who need its keys wait: it goes on, and who comes later has them.
package actor RemoteKeys {
    /// Fetches an address; the time is the most it may take.
    package typealias Fetch = @Sendable (_ uri: String, _ timeout: Duration) async throws -> [UInt8]

    /// What was known of an address when somebody asked.
    package struct Known: Sendable {
        /// The keys.
        package let keys: [JSONWebKey]
        /// How many fetches had begun when they were asked for: what a later one brings is newer than the question.
        fileprivate let begun: Int
    }

    /// The most a fetch may take.
    private static let fetchTimeout = Duration.seconds(30)
    private static let freshFor = 300.0
    private static let usableFor = 3600.0
    /// After a fetch that failed nobody fetches again for so many seconds.
    private static let pauseAfterFailure = 1.0
    /// So many fetches within so many seconds are made for names of keys that were not found.
    private static let misses = (count: 10, seconds: 60.0)

    /// The rules of tokens that are signed with these keys, where they take the place of the usual ones.
    package nonisolated let rules: TokenRules?
    private let uri: String
    private let clock: ServiceClock
    private let fetch: Fetch
    private var keys: [JSONWebKey] = []
    private var fetchedAt: Double?
    private var failedAt: Double?
    private var missTimes: [Double] = []
    /// Fetches are numbered from 1 on; at most one is under way.
    private var begun = 0
    private var running: Task<Void, Never>?
    /// The newest fetch that brought keys, and the newest that brought none.
    private var (succeeded, failed) = (0, 0)
    /// Why the newest that brought none did not.
    private var reason = RemoteKeys.unreachable
    private var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
    private var lastWaiter = 0

    /// Makes a store that has fetched nothing yet.
    ///
    /// - Parameters:
    ///   - uri: The address of a JSON Web Key Set.
    ///   - rules: The rules of tokens that are signed with these keys, if not the usual ones.
    ///   - clock: Tells how old the keys are, by its monotonic time.
    ///   - fetch: Fetches it.
    package init(uri: String, rules: TokenRules? = nil, clock: ServiceClock, fetch: @escaping Fetch) {
        self.uri = uri
        self.rules = rules
        self.clock = clock
        self.fetch = fetch
    }

    deinit { running?.cancel() }

    /// Returns the keys if they are usable, without waiting; old ones are fetched again meanwhile.
    package func inMemory() -> [JSONWebKey] {
        guard let fetchedAt, clock.monotonic() - fetchedAt < Self.usableFor else { return [] }
        if clock.monotonic() - fetchedAt >= Self.freshFor { refreshUnlessFailing() }
        return keys
    }

    private func refreshUnlessFailing() {
        if !isFailing { _ = refresh() }
    }

    /// Whether a fetch has failed a moment ago.
    private var isFailing: Bool {
        running == nil && failedAt.map { clock.monotonic() - $0 < Self.pauseAfterFailure } ?? false
    }

    /// Returns the keys: at once while they are usable, else after fetching them.
    ///
    /// - Parameter deadline: How long to wait for them, on the monotonic clock.
    /// - Returns: The keys.
    /// - Throws: `AuthorizationError` if there are none by then.
    package func current(until deadline: Double) async throws -> Known {
        let begunBefore = begun
        if let fetchedAt, clock.monotonic() - fetchedAt < Self.usableFor {
            if clock.monotonic() - fetchedAt >= Self.freshFor { refreshUnlessFailing() }
        } else {
            guard !isFailing else { throw reason }
            try await waitForFetch(refresh(), until: deadline)
        }
        return Known(keys: keys, begun: begunBefore)
    }

    /// Returns newer keys because one was missing, unless that was asked too often.
    ///
    /// Those who ask while a fetch goes on that began after their question share it, and it counts once.
    ///
    /// - Parameters:
    ///   - known: The keys among which it was missing.
    ///   - deadline: How long to wait for others, on the monotonic clock.
    /// - Returns: The keys.
    /// - Throws: `AuthorizationError` if they cannot be fetched by then.
    package func current(newerThan known: Known, until deadline: Double) async throws -> [JSONWebKey] {
        while succeeded <= known.begun {
            // A fetch that began before the question is waited for, but its keys may be older than the missing one.
            guard running != nil || takesMiss() else { return keys }
            try await waitForFetch(refresh(), until: deadline)
        }
        return keys
    }

    private func takesMiss() -> Bool {
        let now = clock.monotonic()
        missTimes.removeAll { now - $0 >= Self.misses.seconds }
        guard missTimes.count < Self.misses.count else { return false }
        missTimes.append(now)
        return true
    }

    // MARK: Fetching

    /// Returns the number of the fetch that is under way, after beginning one if there is none.
    private func refresh() -> Int {
        guard running == nil else { return begun }
        begun += 1
        running = Task { [uri, fetch] in
            do {
                // Shared secrets are never taken from the network, nor what anybody can sign for.
                let keys = try JSONWebKeySet(json: try await fetch(uri, Self.fetchTimeout)).keys
                end(keys.filter { (try? $0.requireStrength()) != nil })
            } catch let error as AuthorizationError where error == .rejectedAddress {
                end(nil, error)
            } catch {
                // Told to those who wait in words of their own: the cause could show the address.
                end(nil)
            }
        }
        return begun
    }

    private func end(_ fetched: [JSONWebKey]?, _ reason: AuthorizationError = RemoteKeys.unreachable) {
        running = nil
        self.reason = reason
        if let fetched {
            keys = fetched
            fetchedAt = clock.monotonic()
            failedAt = nil
            succeeded = begun
        } else {
            failedAt = clock.monotonic()
            failed = begun
        }
        for waiter in waiters.values { waiter.resume() }
        waiters = [:]
    }

    // MARK: Waiting

    private static let unreachable = AuthorizationError(
        "PSYNC_S2204", "Failed to fetch the keys from the configured jwks_uri")

    private func waitForFetch(_ number: Int, until deadline: Double) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.end(of: number) }
            group.addTask { [clock] in
                try await clock.sleep(deadline)
                throw Self.unreachable
            }
            defer { group.cancelAll() }
            try await group.next()
        }
        if succeeded < number { throw reason }
    }

    private func end(of number: Int) async throws {
        lastWaiter += 1
        let id = lastWaiter
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                if Task.isCancelled {
                    continuation.resume(throwing: CancellationError())
                } else if max(succeeded, failed) >= number {
                    continuation.resume()
                } else {
                    waiters[id] = continuation
                }
            }
        } onCancel: {
            Task { await self.endWait(id) }
        }
    }

    private func endWait(_ id: Int) {
        waiters.removeValue(forKey: id)?.resume(throwing: CancellationError())
    }
}
