import PowerSyncCrypto
import PowerSyncWire

/// What is known of a provider's keys, and when they are fetched: a value of events and time (Backend/Authentication/SPEC.md).
///
/// Times are seconds of a clock that only goes on.
package struct KeyCache: Sendable {
    /// How old the keys are.
    package enum Age: Sendable, Hashable {
        /// There are none, or none that still count.
        case none
        /// They are as good as new.
        case fresh
        /// They count, and are fetched anew meanwhile.
        case old
    }

    /// What becomes of fetching.
    package enum Course: Sendable, Hashable {
        /// Nobody fetches.
        case idle
        /// A fetch has begun.
        case running
        /// One has failed: the next one waits until then.
        case resting(until: Double)
    }

    /// What becomes of a question.
    package enum Reply: Sendable {
        /// These are the keys; whether the one that was asked for is among them, they show. `begins` asks for a fetch.
        case keys([JSONWebKey], begins: Bool)
        /// There is an answer behind a fetch: one that has to begin now, or the one that goes on.
        case wait(begins: Bool)
        /// Nobody can tell now.
        case unavailable
    }

    /// Seconds for which keys are fresh.
    private static let freshFor = 300.0
    /// Seconds for which they count.
    private static let usableFor = 3_600.0
    /// Seconds behind the first failure until the next fetch, doubled by each further one.
    private static let firstRest = 1.0
    /// The most of them.
    private static let longestRest = 30.0
    /// How many fetches there may be at once for names that nobody knows, and seconds until one more.
    private static let misses = (count: 10, seconds: 60.0)
    /// Seconds for which a name is remembered that no key has.
    private static let missingFor = 60.0
    /// The most names of this kind.
    private static let mostMissing = 1_000

    /// Another number once other keys count: what was verified before may not be good any more.
    package private(set) var generation = 0
    /// What becomes of fetching.
    package private(set) var course = Course.idle
    private var keys: [JSONWebKey] = []
    private var fetchedAt: Double?
    /// Seconds until the next fetch, should the one that goes on fail.
    private var rest = KeyCache.firstRest
    private var bucket = RateBucket(
        size: KeyCache.misses.count, secondsPerUnit: KeyCache.misses.seconds)
    /// Until when names are known to be missing.
    private var missing: [String: Double] = [:]
    /// The names that were asked for before the fetch that goes on began, which it answers for.
    private var wanted: Set<String> = []
    /// Those that were asked for since, which it does not.
    private var late: Set<String> = []

    /// Makes a cache of nothing.
    package init() {}

    /// How old the keys are.
    package func age(_ now: Double) -> Age {
        guard let fetchedAt, now - fetchedAt < Self.usableFor else { return .none }
        return now - fetchedAt < Self.freshFor ? .fresh : .old
    }

    /// Applies what time alone changes.
    package mutating func pass(_ now: Double) {
        if case .resting(let end) = course, now >= end { course = .idle }
        guard fetchedAt != nil, age(now) == .none else { return }
        fetchedAt = nil
        keys = []
        missing = [:]
        generation += 1
    }

    /// Somebody asks for a key.
    ///
    /// - Parameters:
    ///   - id: its name; nil for one without, which no fetch is made for while there are keys.
    ///   - now: the time.
    /// - Returns: what becomes of it.
    package mutating func ask(_ id: String?, _ now: Double) -> Reply {
        pass(now)
        let age = age(now)
        guard age != .none else {
            switch course {
            case .idle: return begin(for: id)
            case .running: return join(id)
            case .resting: return .unavailable
            }
        }
        guard let id, !keys.contains(where: { $0.kid == id }) else {
            guard age == .old, course == .idle else { return .keys(keys, begins: false) }
            _ = begin(for: nil)
            return .keys(keys, begins: true)
        }
        if let end = missing[id], now < end { return .keys(keys, begins: false) }
        switch course {
        case .idle: return bucket.take(now) ? begin(for: id) : .keys(keys, begins: false)
        case .running: return join(id)
        case .resting: return .unavailable
        }
    }

    /// A fetch has brought keys.
    ///
    /// - Parameters:
    ///   - fetched: the keys, at least one.
    ///   - now: the time.
    package mutating func fetched(_ fetched: [JSONWebKey], _ now: Double) {
        pass(now)
        if age(now) == .none || !Self.areSame(keys, fetched) { generation += 1 }
        keys = fetched
        fetchedAt = now
        course = .idle
        rest = Self.firstRest
        missing = missing.filter { now < $0.value }
        for id in wanted where !fetched.contains(where: { $0.kid == id }) {
            guard missing.count < Self.mostMissing else { break }
            missing[id] = now + Self.missingFor
        }
        wanted = []
    }

    /// A fetch has brought nothing.
    ///
    /// - Parameter now: the time.
    package mutating func failed(_ now: Double) {
        pass(now)
        course = .resting(until: now + rest)
        rest = min(rest * 2, Self.longestRest)
        wanted = []
    }

    private mutating func begin(for id: String?) -> Reply {
        course = .running
        wanted = late
        late = []
        if let id { wanted.insert(id) }
        return .wait(begins: true)
    }

    private mutating func join(_ id: String?) -> Reply {
        if let id, late.count < Self.mostMissing { late.insert(id) }
        return .wait(begins: false)
    }

    /// Whether both are the same keys, with the same names and algorithms, in any order.
    private static func areSame(_ left: [JSONWebKey], _ right: [JSONWebKey]) -> Bool {
        func marks(_ keys: [JSONWebKey]) -> [[String]] {
            keys.map { [$0.kid.map { "=" + $0 } ?? "", $0.algorithm?.rawValue ?? "", $0.thumbprint] }
                .sorted { $0.lexicographicallyPrecedes($1) }
        }
        return marks(left) == marks(right)
    }
}
