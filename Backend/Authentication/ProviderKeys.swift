import PowerSyncHTTP
import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncHTTPClient
import PowerSyncSystem

/// The keys of a provider, fetched when they are needed and kept as `KeyCache` says.
///
/// There is one fetch at a time. It may take longer than those who need its keys wait: it goes on, and who comes later
/// has them.
package actor ProviderKeys {
    /// A clock that only goes on.
    package struct Clock: Sendable {
        /// Seconds since some moment.
        package let now: @Sendable () -> Double
        /// Returns at a moment of `now`; throws once the task is cancelled.
        package let sleep: @Sendable (Double) async throws -> Void

        /// Makes a clock of its parts.
        package init(
            now: @escaping @Sendable () -> Double, sleep: @escaping @Sendable (Double) async throws -> Void
        ) {
            self.now = now
            self.sleep = sleep
        }

        /// The system's.
        package init(_ poller: Poller) {
            let start = ContinuousClock.now
            self.init(
                now: { (ContinuousClock.now - start) / .seconds(1) },
                sleep: { try await poller.sleep(until: start + .seconds($0)) })
        }
    }

    /// Fetches the document with the keys; ends by itself.
    package typealias Fetch = @Sendable () async throws -> [UInt8]

    /// Seconds for which somebody waits for keys.
    private static let patience = 3.0
    /// How long a fetch may take.
    private static let fetchTime = Duration.seconds(5)
    /// The most bytes of a document.
    private static let mostBytes = 256 << 10
    /// The most keys of a document.
    private static let mostKeys = 100

    private let fetch: Fetch
    private let clock: Clock
    private let random: @Sendable () -> Double
    private let log: Log
    private var cache = KeyCache()
    private var running: Task<Void, Never>?
    /// Fetches are numbered from 1 on.
    private var begun = 0
    /// The newest fetch that brought keys, and the newest that brought none.
    private var (succeeded, failed) = (0, 0)
    private var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]
    private var lastWaiter = 0

    /// Makes a store that has fetched nothing yet.
    ///
    /// - Parameters:
    ///   - clock: tells how old keys are.
    ///   - random: a number from 0 to 1, by which those who are told to come again do not all at once.
    ///   - log: where it says that keys cannot be fetched.
    ///   - fetch: fetches them.
    package init(
        clock: Clock, random: @escaping @Sendable () -> Double, log: Log, fetch: @escaping Fetch
    ) {
        self.clock = clock
        self.random = random
        self.log = log
        self.fetch = fetch
    }

    deinit { running?.cancel() }

    /// Another number once other keys count.
    ///
    /// Old keys are fetched anew for its sake: whoever shows tokens that are remembered asks for no key.
    package var generation: Int {
        let now = clock.now()
        cache.pass(now)
        if cache.age(now) == .old, case .keys(_, begins: true) = cache.ask(nil, now) { begin() }
        return cache.generation
    }

    /// Returns the keys, among which one of a name is, if there is such a one.
    ///
    /// - Parameter id: the name of the key; nil for one without.
    /// - Returns: the keys that count.
    /// - Throws: `Problem` 503 where nobody can tell within three seconds.
    package func keys(for id: String?) async throws(Problem) -> [JSONWebKey] {
        let end = clock.now() + Self.patience
        while true {
            switch cache.ask(id, clock.now()) {
            case .keys(let keys, begins: let begins):
                if begins { begin() }
                return keys
            case .unavailable: throw unavailable
            case .wait(begins: let begins):
                if begins { begin() }
                guard await hasFetched(begun, until: end) else { throw unavailable }
            }
        }
    }

    private var unavailable: Problem { .keysUnavailable(retryAfter: 1 + Int(random() * 4)) }

    // MARK: Fetching

    /// Reads a document of keys.
    ///
    /// - Parameter document: a JSON Web Key Set.
    /// - Returns: the keys of it by which nobody can sign who has not made them, without private parts.
    /// - Throws: `CryptoError` for what is no set, `BackendError` for one without such a key, or with too many.
    package static func keys(in document: [UInt8]) throws -> [JSONWebKey] {
        // Shared secrets never come over the network.
        let all = try JSONWebKeySet(json: document).keys
        guard all.count <= mostKeys else {
            throw BackendError(.keys, "the provider has more than \(mostKeys) keys")
        }
        // Weak ones are left out, as those of unknown types are: the others count.
        let strong = all.filter { (try? $0.requireStrength()) != nil }
        guard !strong.isEmpty else { throw BackendError(.keys, "the provider has no key that is good here") }
        return strong.map { $0.publicKey() }
    }

    /// Returns what fetches a document over HTTP.
    ///
    /// - Parameter url: where it is.
    /// - Returns: the fetch.
    /// - Throws: `HTTPClientError` where there can be no client.
    static func fetch(from url: String) throws(HTTPClientError) -> Fetch {
        var configuration = HTTPClientConfiguration()
        // Without TLS whoever is meant is near: what a proxy says in its place would count as well.
        if KeysURL(url)?.isEncrypted != true { configuration.proxy = "" }
        let client = try HTTPClient(configuration)
        return {
            let request = HTTPClientRequest(
                url: url, fields: ["accept": "application/json"], connectTimeout: fetchTime,
                totalTimeout: fetchTime)
            let answer = try await client.send(request, bodyLimit: mostBytes)
            guard answer.status == 200 else {
                throw BackendError(.keys, "the provider answered \(answer.status)")
            }
            return answer.body
        }
    }

    private func begin() {
        begun += 1
        running = Task { [fetch] in
            do {
                end(try Self.keys(in: try await fetch()))
            } catch {
                log.warning("the keys of the provider cannot be fetched", ["keys.problem": "\(error)"])
                end(nil)
            }
        }
    }

    private func end(_ keys: [JSONWebKey]?) {
        running = nil
        if let keys {
            cache.fetched(keys, clock.now())
            succeeded = begun
        } else {
            cache.failed(clock.now())
            failed = begun
        }
        for waiter in waiters.values { waiter.resume(returning: keys != nil) }
        waiters = [:]
    }

    // MARK: Waiting

    /// Whether a fetch brings keys by then.
    private func hasFetched(_ number: Int, until end: Double) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { await self.outcome(of: number) }
            group.addTask { [clock] in
                // It throws where the fetch has ended first, or the request is cut short.
                try? await clock.sleep(end)
                return false
            }
            let hasFetched = await group.next() ?? false
            group.cancelAll()
            return hasFetched
        }
    }

    /// Waits for the end of a fetch, or of the task.
    private func outcome(of number: Int) async -> Bool {
        lastWaiter += 1
        let id = lastWaiter
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                if max(succeeded, failed) >= number {
                    continuation.resume(returning: succeeded >= number)
                } else if Task.isCancelled {
                    continuation.resume(returning: false)
                } else {
                    waiters[id] = continuation
                }
            }
        } onCancel: {
            Task { await self.endWait(id) }
        }
    }

    private func endWait(_ id: Int) {
        waiters.removeValue(forKey: id)?.resume(returning: false)
    }
}
