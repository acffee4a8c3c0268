import Testing

/// Random numbers that a seed repeats (SplitMix64).
package struct SeededRandom: RandomNumberGenerator, Sendable {
    /// What it began with.
    package let seed: Int
    private var state: UInt64

    /// Makes a generator; neighbouring seeds share nothing.
    package init(seed: Int) {
        self.seed = seed
        state = UInt64(bitPattern: Int64(seed))
        // The state is far from the next seed's.
        state = next() ^ 0xD1B5_4A32_D192_ED03
    }

    /// Returns the next 64 bits.
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `bound` - 1.
    package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    /// Returns true once in so many times.
    package mutating func once(in count: Int) -> Bool { below(count) == 0 }

    /// Returns one of the elements.
    package mutating func pick<T>(_ elements: [T]) -> T { elements[below(elements.count)] }

    /// Returns one of the elements as often as its weight says.
    package mutating func pick<T>(weighted elements: [(Int, T)]) -> T {
        var left = below(elements.reduce(0) { $0 + $1.0 })
        for (weight, element) in elements {
            if left < weight { return element }
            left -= weight
        }
        return elements[elements.count - 1].1
    }
}

/// Runs `body` with a generator for each of so many seeds, or with the one of `POWERSYNC_SEED` alone.
///
/// Every issue that arises in `body` carries the seed, if the test or its suite has the trait `.namesSeed`.
///
/// - Parameters:
///   - count: How many seeds, from 0 on.
///   - sourceLocation: Where an error is told.
///   - body: What is tested.
/// - Throws: What `body` throws; its issue is recorded first, so that the seed stands in it.
package func forEachSeed(
    _ count: Int, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (inout SeededRandom) async throws -> Void
) async throws {
    let chosen = TestOptions.number("POWERSYNC_SEED", standard: -1)
    for seed in chosen < 0 ? 0..<count : chosen..<chosen + 1 {
        try await SeedOfIssues.$current.withValue(seed) {
            var random = SeededRandom(seed: seed)
            do {
                try await body(&random)
            } catch  where error is ExpectationFailedError || error is StateDidNotCome {
                // Its issue has been recorded where it arose.
                throw error
            } catch {
                Issue.record(error, sourceLocation: sourceLocation)
                throw error
            }
        }
    }
}

/// The seed that is being tried by the task.
package enum SeedOfIssues {
    @TaskLocal package static var current: Int?
}

extension Trait where Self == IssueHandlingTrait {
    /// Adds the line "seed 812" to every issue that arises in `forEachSeed`.
    package static var namesSeed: Self {
        .compactMapIssues { issue in
            guard let seed = SeedOfIssues.current else { return issue }
            var named = issue
            named.comments.append("seed \(seed)")
            return named
        }
    }
}
