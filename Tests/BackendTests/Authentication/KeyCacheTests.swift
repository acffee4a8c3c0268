import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncTestSupport
import Testing

/// When keys of a provider are fetched, and for how long they count (Backend/Authentication/SPEC.md).
struct KeyCacheTests {
    private let known: JSONWebKey
    private let other: JSONWebKey

    init() throws {
        known = try JSONWebKey.generate(.ES256).publicKey()
        other = try JSONWebKey.generate(.ES256).publicKey()
    }

    /// A cache that was brought to a state, and the time there.
    private func cache(_ age: KeyCache.Age, _ course: String) -> (cache: KeyCache, now: Double) {
        var cache = KeyCache()
        var now = 0.0
        if age != .none {
            _ = cache.ask("first", now)
            cache.fetched([known], now)
            now = age == .fresh ? 1 : 301
        }
        if course != "idle" {
            // Where there are keys a name that no key has asks for the fetch.
            _ = cache.ask("cause", now)
            if course == "resting" { cache.failed(now) }
        }
        return (cache, now)
    }

    private func words(_ reply: KeyCache.Reply) -> String {
        switch reply {
        case .keys(_, begins: let begins): begins ? "keys, fetch" : "keys"
        case .wait(begins: let begins): begins ? "fetch, wait" : "wait"
        case .unavailable: "503"
        }
    }

    private static let ages: [(KeyCache.Age, [String])] = [
        (.none, ["idle", "running", "resting"]), (.fresh, ["idle", "running", "resting"]),
        (.old, ["idle", "running", "resting"]),
    ]

    // MARK: Each cell

    @Test func whoIsKnownIsAnsweredAtOnce() {
        let expected = ["keys", "keys", "keys", "keys, fetch", "keys", "keys"]
        var found: [String] = []
        for (age, courses) in Self.ages.dropFirst() {
            for course in courses {
                var (cache, now) = cache(age, course)
                #expect(cache.age(now) == age)
                found.append(words(cache.ask(known.kid, now)))
            }
        }
        #expect(found == expected)
    }

    @Test func whoIsNotKnownWaits() {
        let expected = [
            "fetch, wait", "wait", "503", "fetch, wait", "wait", "503", "fetch, wait", "wait", "503",
        ]
        var found: [String] = []
        for (age, courses) in Self.ages {
            for course in courses {
                var (cache, now) = cache(age, course)
                found.append(words(cache.ask("new", now)))
            }
        }
        #expect(found == expected)
    }

    /// Whoever names no key costs a fetch only where there are no keys, or old ones.
    @Test func withoutANameTheKeysThatThereAreCount() {
        var found: [String] = []
        for (age, courses) in Self.ages {
            for course in courses {
                var (cache, now) = cache(age, course)
                found.append(words(cache.ask(nil, now)))
            }
        }
        let first = ["fetch, wait", "wait", "503", "keys", "keys", "keys"]
        #expect(found == first + ["keys, fetch", "keys", "keys"])
    }

    @Test func aNameThatIsMissingIsRememberedForAMinute() {
        var cache = KeyCache()
        _ = cache.ask("none", 0)
        cache.fetched([known], 0)
        #expect(words(cache.ask("none", 59)) == "keys")
        #expect(words(cache.ask("none", 60)) == "fetch, wait")
        cache.failed(60)
        #expect(words(cache.ask("none", 60)) == "503")
        // Also while a fetch goes on, or one has failed.
        for course in ["idle", "running", "resting"] {
            var cache = KeyCache()
            _ = cache.ask("none", 0)
            cache.fetched([known], 0)
            if course != "idle" { _ = cache.ask("cause", 1) }
            if course == "resting" { cache.failed(1) }
            #expect(words(cache.ask("none", 1)) == "keys", "\(course)")
        }
    }

    @Test func whoeverCameDuringAFetchIsNotAnsweredByIt() {
        var cache = KeyCache()
        _ = cache.ask("first", 0)
        #expect(words(cache.ask("late", 0)) == "wait")
        cache.fetched([known], 1)
        #expect(words(cache.ask("first", 1)) == "keys", "it is missing")
        #expect(words(cache.ask("late", 1)) == "fetch, wait", "it may have come since")
        cache.fetched([known], 2)
        #expect(words(cache.ask("late", 2)) == "keys")
    }

    @Test func oneFetchAnswersForAllWhoCameBefore() {
        var cache = KeyCache()
        _ = cache.ask("first", 0)
        for number in 0..<50 { _ = cache.ask("late\(number)", 0) }
        cache.fetched([known], 0)
        #expect(words(cache.ask("late0", 0)) == "fetch, wait")
        cache.fetched([known], 0)
        for number in 0..<50 { #expect(words(cache.ask("late\(number)", 0)) == "keys") }
    }

    @Test func missesAreTenAndOneMoreAMinute() {
        var cache = KeyCache()
        _ = cache.ask(nil, 0)
        cache.fetched([known], 0)
        var fetches = 0
        for number in 0..<100 {
            guard case .wait(begins: true) = cache.ask("k\(number)", 1) else { continue }
            fetches += 1
            cache.fetched([known], 1)
        }
        #expect(fetches == 10)
        #expect(words(cache.ask("later", 60)) == "keys", "no key of it")
        #expect(words(cache.ask("later", 61)) == "fetch, wait")
        cache.fetched([known], 61)
        #expect(words(cache.ask("last", 62)) == "keys")
        #expect(words(cache.ask(known.kid, 62)) == "keys", "those that are known go on")
    }

    @Test func aRestDoublesToHalfAMinute() {
        var cache = KeyCache()
        var now = 0.0
        for rest in [1.0, 2, 4, 8, 16, 30, 30] {
            #expect(words(cache.ask(nil, now)) == "fetch, wait")
            cache.failed(now)
            #expect(cache.course == .resting(until: now + rest))
            #expect(words(cache.ask(nil, now + rest - 0.001)) == "503")
            now += rest
        }
        #expect(words(cache.ask(nil, now)) == "fetch, wait")
        cache.fetched([known], now)
        now += 300
        #expect(words(cache.ask(nil, now)) == "keys, fetch")
        cache.failed(now)
        #expect(cache.course == .resting(until: now + 1), "a success begins anew")
    }

    // MARK: Time and generations

    @Test func keysCountForAnHour() {
        var (cache, _) = cache(.fresh, "idle")
        #expect(cache.age(299.9) == .fresh && cache.age(300) == .old)
        #expect(cache.age(3_599.9) == .old && cache.age(3_600) == .none)
        cache.pass(3_599.9)
        #expect(cache.generation == 1)
        cache.pass(3_600)
        cache.pass(3_700)
        #expect(cache.generation == 2, "once")
        #expect(words(cache.ask(known.kid, 3_700)) == "fetch, wait")
    }

    @Test func aKnownNameIsAnsweredForAnHourWithTheProviderDown() {
        var (cache, now) = cache(.fresh, "idle")
        while now < 3_600 {
            guard case .keys(_, begins: let begins) = cache.ask(known.kid, now) else {
                Issue.record("it is known at \(now)")
                return
            }
            if begins { cache.failed(now) }
            now += 7
        }
        _ = cache.ask(known.kid, now)
        cache.failed(now)
        #expect(words(cache.ask(known.kid, now)) == "503")
    }

    @Test func otherKeysAreAnotherGeneration() throws {
        var cache = KeyCache()
        func fetch(_ keys: [JSONWebKey]) -> Int {
            cache.fetched(keys, 0)
            return cache.generation
        }
        #expect(fetch([known, other]) == 1)
        #expect(fetch([other, known]) == 1, "the order says nothing")
        #expect(fetch([known]) == 2)
        var renamed = known
        renamed.kid = "another"
        #expect(fetch([renamed]) == 3)
        var unnamed = known
        unnamed.kid = nil
        #expect(fetch([unnamed]) == 4)
        cache.failed(0)
        #expect(cache.generation == 4)
    }

    @Test func aNewKeyIsFoundAtOnce() {
        var (cache, now) = cache(.fresh, "idle")
        #expect(words(cache.ask(other.kid, now)) == "fetch, wait")
        cache.fetched([known, other], now)
        #expect(words(cache.ask(other.kid, now)) == "keys")
    }

    // MARK: Any order

    @Test(.namesSeed) func inAnyOrderItKeepsItsPromises() async throws {
        try await forEachSeed(50) { random in
            var cache = KeyCache()
            var now = 0.0
            var isRunning = false
            var (fetches, failures, generation) = (0, 0, 0)
            for _ in 0..<500 {
                now += [0, 0.3, 1, 20, 70, 400][random.below(6)]
                switch random.below(4) {
                case 0 where isRunning:
                    cache.fetched(random.once(in: 3) ? [known, other] : [known], now)
                    isRunning = false
                case 1 where isRunning:
                    cache.failed(now)
                    failures += 1
                    isRunning = false
                default:
                    let id = random.pick([known.kid, other.kid, nil, "k\(random.below(1_000))"])
                    let age = cache.age(now)
                    switch cache.ask(id, now) {
                    case .keys(let keys, begins: let begins):
                        #expect(age != .none && keys.contains { $0.kid == known.kid })
                        #expect(!begins || !isRunning && age == .old)
                        if begins { (isRunning, fetches) = (true, fetches + 1) }
                    case .wait(begins: let begins):
                        #expect(begins == !isRunning, "one at a time")
                        if begins { (isRunning, fetches) = (true, fetches + 1) }
                        #expect(id != known.kid || age == .none, "who is known never waits")
                    case .unavailable:
                        #expect(!isRunning && failures > 0)
                        #expect(id != known.kid || age == .none)
                    }
                }
                #expect((cache.course == .running) == isRunning)
                #expect(cache.generation >= generation)
                generation = cache.generation
            }
            // Misses, those that failed, and one each five minutes.
            #expect(Double(fetches) <= 11 + now / 60 + Double(failures) + now / 300 + 1)
        }
    }
}
