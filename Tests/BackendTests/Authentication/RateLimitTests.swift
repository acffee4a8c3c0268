import PowerSyncBackend
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// So much a minute (backend 7, number 20).
struct RateLimitTests {
    @Test func aBucketFillsEvenly() {
        var bucket = RateBucket(size: 20, secondsPerUnit: 3)
        let taken = (0..<20).map { _ in bucket.take(100) }
        #expect(!taken.contains(false))
        #expect(!bucket.take(100) && bucket.secondsToNext(100) == 3)
        #expect(!bucket.take(102.5) && bucket.secondsToNext(102.5) == 1)
        #expect(bucket.take(103) && !bucket.take(103))
        #expect(bucket.level(10_000) == 20, "it holds no more")
    }

    @Test func aClockThatGoesBackBringsNothing() {
        var bucket = RateBucket(size: 1, secondsPerUnit: 60)
        #expect(bucket.take(1_000) && !bucket.take(500))
        #expect(!bucket.take(559) && bucket.take(560), "from there on it fills")
    }

    @Test func manySmallPartsAreAWhole() {
        var bucket = RateBucket(size: 600, secondsPerUnit: 0.1)
        let taken = (0..<600).map { _ in bucket.take(0) }
        #expect(!taken.contains(false))
        var now = 0.0
        for _ in 0..<1_000 {
            for _ in 0..<9 {
                now += 0.01
                _ = bucket.level(now)
            }
            now += 0.01
            let isTaken = bucket.take(now)
            #expect(isTaken)
        }
    }

    @Test func eachHasItsOwn() {
        let limit = RateLimit<String>(perMinute: 2)
        #expect(limit.take("a", 0) == nil && limit.take("a", 0) == nil)
        #expect(limit.take("a", 0) == 30 && limit.take("a", 0) == 30)
        #expect(limit.take("b", 0) == nil)
        #expect(limit.take("a", 30) == nil && limit.take("a", 30) == 30)
    }

    @Test func zeroIsNoLimit() {
        let limit = RateLimit<String>(perMinute: 0)
        for _ in 0..<1_000 { #expect(limit.take("a", 0) == nil) }
        #expect(limit.count == 0)
    }

    @Test func thoseWhoHaveUsedLeastAreForgottenFirst() {
        let limit = RateLimit<Int>(perMinute: 3)
        for _ in 0..<3 { limit.take(-1, 0) }
        for key in 0..<30_000 {
            limit.take(key, 0)
            if limit.count > RateLimit<Int>.mostKeys {
                Issue.record("\(limit.count) are remembered")
                return
            }
        }
        #expect(limit.take(-1, 0) != nil, "who has used it up is still held up")
        #expect(limit.count > RateLimit<Int>.mostKeys / 2)
    }

    @Test func failuresAreThoseOfAnAddress() throws {
        let failures = FailedCredentials(perMinute: 2)
        let bad = Problem.unauthenticated(.tokenSignature, "no")
        func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }
        let one = try address("192.0.2.1")
        for other in [
            .unauthenticated(.tokenExpired, "late"), .crossSite, .accountDisabled,
            .keysUnavailable(retryAfter: 1), .rateLimited("much", retryAfter: 1),
        ] as [Problem] {
            for _ in 0..<10 {
                #expect(failures.answer(to: other, of: one, now: 0).code == other.code, "\(other.code)")
            }
        }
        #expect(failures.clients == 0)
        func status(_ client: IPAddress?, _ now: Double = 0) -> Int {
            failures.answer(to: bad, of: client, now: now).status
        }
        for _ in 0..<2 { #expect(status(one) == 401) }
        let answer = failures.answer(to: bad, of: one, now: 0)
        #expect(answer.status == 429 && answer.code == "RATE_LIMITED" && answer.retryAfter == 30)
        let late = Problem.unauthenticated(.tokenExpired, "late")
        #expect(failures.answer(to: late, of: one, now: 0).status == 401, "who shows one is to get another")
        #expect(status(try address("::ffff:192.0.2.1")) == 429, "the same one")
        #expect(status(try address("192.0.2.2")) == 401)
        #expect(status(one, 30) == 401)
        #expect(status(one, 30) == 429)
        // Whoever has an address of version 6 has 2^64 of them.
        for text in ["2001:db8::1", "2001:db8::2"] { #expect(status(try address(text)) == 401) }
        #expect(status(try address("2001:db8::ffff:1")) == 429)
        #expect(status(try address("2001:db8:0:1::1")) == 401)
        for _ in 0..<10 { #expect(status(nil) == 401, "nobody is no client") }
        #expect(failures.clients == 4)
    }
}
