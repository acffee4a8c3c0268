import Foundation
import PowerSyncPostgresServer
import PowerSyncStack
import PowerSyncTestSupport
import Testing

@testable import PowerSyncBenchmarks

/// Whether everything can be measured, with little of everything; what comes out means nothing.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct BackendBenchmarkTests {
    private static let program = Repository.executable("powersync-backend")
    private static let sizes = BackendSizes(rows: 10, transactions: 2, users: 3, singles: 4)

    private func measure(
        _ parts: [BackendPart], isDurable: Bool = false, program: String
    ) async throws -> BackendBenchmark.Outcome {
        let benchmark = BackendBenchmark(parts: parts, pairs: 2, program: program, sizes: Self.sizes)
        let outcome = try await Session.run(until: AsyncStream { $0.finish() }) { session in
            try await benchmark.measure(session, isDurable: isDurable)
        }
        return try #require(outcome)
    }

    @Test func everyPartIsMeasuredBesideItsLimit() async throws {
        let folder = try await PostgresBinaries.find().directory
        // Some builds of Postgres have a server alone.
        let hasPgbench = FileManager.default.isExecutableFile(atPath: folder + "/pgbench")
        let parts = BackendPart.allCases.filter { $0 != .singles || hasPgbench }
        let outcome = try await measure(parts, program: Self.program)
        #expect(!outcome.hasFailed)
        #expect(outcome.rows.count == (hasPgbench ? 9 : 5))
        #expect(outcome.rows.allSatisfy { !$0.limit.isEmpty && !$0.ratio.isEmpty })
        #expect(outcome.rows.filter { !$0.goal.isEmpty }.count == (hasPgbench ? 4 : 2))
        #expect(outcome.processor.map(\.first) == parts.map { "\($0.rawValue), fsync off" })
        #expect(outcome.processor.allSatisfy { $0.count == ProcessorTimes.head.count })
        #if os(Linux)
            #expect(outcome.processor.allSatisfy { $0.allSatisfy { !$0.isEmpty } })
        #endif
    }

    @Test func whetherCommitsWaitForTheDiskIsSaid() async throws {
        let outcome = try await measure([.uniform], isDurable: true, program: Self.program)
        #expect(outcome.rows.map { $0.what.hasPrefix("uniform, fsync on: 10 PUTs a request") } == [true])
    }

    @Test func aPartThatGoesWrongIsToldAndTheOthersAreMeasured() async throws {
        let outcome = try await measure([.uniform, .mixed], program: "/usr/bin/false")
        #expect(outcome.hasFailed && outcome.processor.isEmpty)
        #expect(outcome.rows.map(\.what) == ["uniform, fsync off", "mixed, fsync off"])
        #expect(outcome.rows.allSatisfy { $0.ours == "failed" })
    }
}
