import PowerSyncServiceEngine
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncStack

/// What clients hold after each commit, beside an evaluation of all rows from nothing.
@Suite(.patient(minutes: 60), .namesSeed)
struct IncrementalTests {
    private static let transactions = 40

    /// The recorded configurations of the language, of which each seed has its own.
    private struct Recordings {
        /// A configuration, and what is done with it.
        struct Drawn: Sendable {
            let job: LanguageJob
            let plan: SyncPlan
            let tables: [LanguageWorlds.Table]
        }

        /// No usable configuration was found.
        struct NoneFits: Error {}

        /// From so many lines a seed takes one, so 300 seeds have 300.
        private static let share = 5

        let worlds: LanguageWorlds
        private let lines: [ArraySlice<UInt8>]
        private let order: [Int]

        init() throws {
            worlds = try LanguageWorlds(
                parsing: try Repository.text("Tests/Fixtures/language/worlds.json"))
            lines = try Repository.fixture("language/configurations.jsonl").split(separator: 0x0A)
            var random = SeededRandom(seed: 0)
            order = lines.indices.shuffled(using: &random)
        }

        /// The first usable configuration among those of a seed; three of four seeds prefer one with lookups.
        func drawn(_ seed: Int) throws -> Drawn {
            var first: Drawn?
            for place in lines.indices {
                let line = lines[order[(seed * Self.share + place) % lines.count]]
                let job = try LanguageJob(Array(line))
                let plan = SyncConfig.compile(job.yaml, schema: worlds.schema(of: job)).plan
                if let plan, job.items != nil {
                    let drawn = Drawn(job: job, plan: plan, tables: try worlds.tables(of: job))
                    if seed % 4 == 3 || !plan.lookups.isEmpty { return drawn }
                    first = first ?? drawn
                }
                if place + 1 >= Self.share, let first { return first }
            }
            throw NoneFits()
        }
    }

    /// A user's client.
    private struct Client {
        let request: LanguageRequest
        /// Nil while the request is refused.
        var stream: IncrementalService.Stream?
        /// What was listed when it was looked at last.
        var listed: [ExactText: SyncStreamState.Listing] = [:]

        /// What it has; nil if its request is refused.
        var state: SyncStreamState? { stream?.state }

        /// Comes again, with what it has.
        mutating func reconnect(to service: IncrementalService) async throws {
            let former = stream?.state
            if let stream { await service.close(stream) }
            stream = try await service.open(request, behind: former)
            listed = [:]
        }
    }

    /// Through the whole service but HTTP and Postgres: after each of 40 random transactions the buckets of three users, what
    /// they are listed with, the rows in them and the checksums are those of all rows that there are (service 3.6, 3.7, 4.6).
    @Test func everyCommitEqualsAnEvaluationFromNothing() async throws {
        let recordings = try Recordings()
        let count = TestOptions.number("POWERSYNC_LANGUAGE_CONFIGURATIONS", standard: 30)
        try await forEachSeed(count) { random in
            let drawn = try recordings.drawn(random.seed)
            let source = ScriptedTables(
                drawn.tables, of: recordings.worlds,
                where: { drawn.plan.reads(schema: LanguageWorlds.schemaName.text, table: $0.text) }, &random)
            let begun = random
            try await IncrementalService.run(drawn.plan, source) { service in
                try await Self.play(drawn, source, service, begun)
            }
        }
    }

    private static func play(
        _ drawn: Recordings.Drawn, _ tables: ScriptedTables, _ service: IncrementalService,
        _ seeded: SeededRandom
    ) async throws {
        var (random, source) = (seeded, tables)
        var clients: [Client] = []
        for request in drawn.job.requests {
            clients.append(Client(request: request, stream: try await service.open(request)))
        }
        var told: [String] = []
        for number in 0...transactions {
            if number > 0 {
                let steps = source.transaction(&random)
                told = steps.map { source.line($0) }
                let first = random.once(in: 3) ? random.below(steps.count + 1) : 0
                try await service.commit(
                    steps, of: source, first: first, isApart: random.once(in: 2))
            }
            try await service.rest()
            let expected = EvaluationFromNothing(drawn.plan, source.tables)
            let place = "configuration \(drawn.job.id), transaction \(number)"
            try compare(&clients, with: expected, place, told)
            if random.once(in: 8) { try await service.tidy() }
            // Who has no stream tries again each time.
            let comes = random.once(in: 8) ? random.below(clients.count) : nil
            for index in clients.indices where index == comes || clients[index].stream == nil {
                try await clients[index].reconnect(to: service)
            }
            try await service.rest()
            try compare(&clients, with: expected, "\(place), come again", told)
        }
    }

    /// Compares all clients with what they have to hold; notes what is listed for them.
    private static func compare(
        _ clients: inout [Client], with expected: EvaluationFromNothing, _ place: String, _ told: [String]
    ) throws {
        for index in clients.indices {
            // A stream that has come to more than it may has ended.
            let end = clients[index].stream?.end
            if end != nil { clients[index].stream = nil }
            let client = clients[index]
            let differences = expected.differences(
                of: client.state, listedBefore: client.listed, from: client.request)
            clients[index].listed = client.state?.listed ?? [:]
            let lines =
                ["\(place), request \(index), \(end ?? "which goes on"):"] + differences
                + told.map { "told: \($0)" }
            let text = lines.joined(separator: "\n  ").prefix(6000)
            try #require(differences.isEmpty, Comment(rawValue: String(text)))
        }
    }
}
