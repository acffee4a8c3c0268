/// What can be measured of a service, in this order.
enum ServicePart: String, CaseIterable, Sendable {
    /// From nothing to the first checkpoint of an empty database.
    case start
    /// The initial snapshot of 100,000 rows.
    case snapshot100k
    /// The initial snapshot of 1,000,000 rows.
    case snapshot1m
    /// A bucket of 100,000 rows that others have got before.
    case warm100k
    /// A bucket of 1,000,000 rows that others have got before.
    case warm1m
    /// One large transaction.
    case bulk
    /// Many small transactions.
    case singles
    /// One commit after the other.
    case latency
    /// One write checkpoint after the other.
    case writeCheckpoint = "write-checkpoint"
    /// Many clients that come at once.
    case connects
    /// One change for many clients.
    case fanout
    /// Commits that no stream is told of.
    case idle
    /// The most memory in four situations.
    case memory
    /// The compiler alone.
    case compile
    /// Several streams, a join and sub-selects, beside one stream.
    case language
    /// Many users, each with a row of a lookup.
    case lookups

    /// Returns the parts that words name: each names one, or all whose names begin with it.
    ///
    /// - Parameter words: the words; none name all parts.
    /// - Returns: the parts in their order, each once.
    /// - Throws: `UnknownPart` for the first word that names none.
    static func named(_ words: [String]) throws(UnknownPart) -> [ServicePart] {
        var wanted: Set<ServicePart> = []
        for word in words {
            let exact = ServicePart(rawValue: word)
            let found = exact.map { [$0] } ?? allCases.filter { $0.rawValue.hasPrefix(word) }
            guard !word.isEmpty, !found.isEmpty else { throw UnknownPart(word: word) }
            wanted.formUnion(found)
        }
        return allCases.filter { words.isEmpty || wanted.contains($0) }
    }

    /// A word that names no part.
    struct UnknownPart: Error {
        /// The word.
        let word: String
    }

    /// Measures the part.
    ///
    /// - Parameters:
    ///   - world: has Postgres and the reader.
    ///   - sizes: how much of everything there is.
    ///   - pairs: how often it is measured, each time in turn with its limit.
    /// - Returns: its lines of the table.
    /// - Throws: what goes wrong.
    func measure(
        in world: ServiceWorld, sizes: ServiceSizes, pairs: Int
    ) async throws -> [BenchmarkReport.Row] {
        let part = ServicePartRun(name: rawValue, world: world, sizes: sizes, pairs: pairs)
        return switch self {
        case .start: try await part.start()
        case .snapshot100k: try await part.snapshot(rows: sizes.rows)
        case .snapshot1m: try await part.snapshot(rows: sizes.manyRows)
        case .warm100k: try await part.warm(rows: sizes.rows)
        case .warm1m: try await part.warm(rows: sizes.manyRows)
        case .bulk: try await part.bulk()
        case .singles: try await part.singles()
        case .latency: try await part.latency()
        case .writeCheckpoint: try await part.writeCheckpoint()
        case .connects: try await part.connects()
        case .fanout: try await part.fanout()
        case .idle: try await part.idle()
        case .memory: try await part.memory()
        case .compile: try part.compile()
        case .language: try await part.language()
        case .lookups: try await part.lookups()
        }
    }
}

/// One part while it is measured.
///
/// What each part does stands in an extension of its own, with what belongs together in one file.
struct ServicePartRun: Sendable {
    /// The name of the part.
    let name: String
    /// Has Postgres and the reader.
    let world: ServiceWorld
    /// How much of everything there is.
    let sizes: ServiceSizes
    /// How often it is measured.
    let pairs: Int

    /// Tells what is going on.
    func progress(_ text: String) { BenchmarkReport.progress("\(name): \(text)") }

    /// Tells the result of a pair.
    func progress(_ pair: Int, _ text: String) { progress("\(pair) of \(pairs): \(text)") }
}
