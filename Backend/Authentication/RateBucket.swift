import PowerSyncSystem

/// So much at once, and as much again in a time, evenly: a value of what is left and since when.
package struct RateBucket: Sendable, Hashable {
    /// What sums of many small parts may lack.
    private static let rounding = 1e-6

    private let size: Double
    private let secondsPerUnit: Double
    private var left: Double
    private var changedAt = -Double.infinity

    /// Makes a full bucket.
    ///
    /// - Parameters:
    ///   - size: how much it holds, more than nothing.
    ///   - secondsPerUnit: how long one unit takes to come back.
    package init(size: Int, secondsPerUnit: Double) {
        precondition(size > 0 && secondsPerUnit > 0, "a bucket holds something, and fills")
        self.size = Double(size)
        self.secondsPerUnit = secondsPerUnit
        left = self.size
    }

    /// How much there is; a clock that goes back brings nothing and takes nothing.
    package func level(_ now: Double) -> Double {
        guard now > changedAt else { return left }
        return min(size, left + (now - changedAt) / secondsPerUnit)
    }

    /// Takes a unit.
    ///
    /// - Parameter now: seconds of any clock.
    /// - Returns: whether there was one.
    package mutating func take(_ now: Double) -> Bool {
        left = level(now)
        changedAt = now
        guard left >= 1 - Self.rounding else { return false }
        left = max(0, left - 1)
        return true
    }

    /// Whole seconds until there is a unit, at least one.
    package func secondsToNext(_ now: Double) -> Int {
        max(1, Int(((1 - level(now)) * secondsPerUnit).rounded(.up)))
    }
}

/// So much a minute for each of many, of whom those are forgotten first that have used least of theirs.
package final class RateLimit<Key: Hashable & Sendable>: Sendable {
    /// The most that are remembered.
    package static var mostKeys: Int { 10_000 }

    private let perMinute: Int
    private let buckets = Lock<[Key: RateBucket]>([:])

    /// Makes a limit that nobody has met.
    ///
    /// - Parameter perMinute: how much each has; 0 sets no limit.
    package init(perMinute: Int) { self.perMinute = perMinute }

    /// How many are remembered.
    package var count: Int { buckets.withLock { $0.count } }

    /// Takes a unit.
    ///
    /// - Parameters:
    ///   - key: whose.
    ///   - now: seconds of any clock.
    /// - Returns: seconds until there is one; nil if it was taken.
    @discardableResult
    package func take(_ key: Key, _ now: Double) -> Int? {
        guard perMinute > 0 else { return nil }
        return buckets.withLock { buckets in
            var bucket = buckets[key] ?? fresh
            if buckets[key] == nil, buckets.count >= Self.mostKeys { Self.forget(&buckets, now) }
            let isTaken = bucket.take(now)
            buckets[key] = bucket
            return isTaken ? nil : bucket.secondsToNext(now)
        }
    }

    private var fresh: RateBucket {
        RateBucket(size: perMinute, secondsPerUnit: 60 / Double(perMinute))
    }

    /// Makes room for a tenth: full buckets say nothing, and of the others the fullest least.
    private static func forget(_ buckets: inout [Key: RateBucket], _ now: Double) {
        let fullest = buckets.map { (key: $0.key, level: $0.value.level(now)) }.sorted { $0.level > $1.level }
        for entry in fullest.prefix(max(1, mostKeys / 10)) { buckets[entry.key] = nil }
    }
}
