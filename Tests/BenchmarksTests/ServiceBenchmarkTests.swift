import Foundation
import PowerSyncPostgresServer
import PowerSyncStack
import PowerSyncTestSupport
import Testing

@testable import PowerSyncBenchmarks

/// Whether everything can be measured, with little of everything; what comes out means nothing.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ServiceBenchmarkTests {
    private static let program = Repository.executable("powersync-mock-service")
    private static let sizes = ServiceSizes(
        rows: 30, manyRows: 50, bulkRows: 40, singles: 20, commits: 3, writeCheckpoints: 2, clients: 5,
        rowsOfClient: 4, changes: 2, commitsOfOthers: 5, users: 12)

    private func measure(
        _ parts: [ServicePart], program: String
    ) async throws -> (rows: [BenchmarkReport.Row], hasFailed: Bool) {
        let benchmark = ServiceBenchmark(parts: parts, pairs: 2, program: program, sizes: Self.sizes)
        let outcome = try await Session.run(until: AsyncStream { $0.finish() }) { session in
            try await benchmark.measure(session)
        }
        return try #require(outcome)
    }

    @Test func everyPartIsMeasuredBesideItsLimit() async throws {
        let folder = try await PostgresBinaries.find().directory
        // Some builds of Postgres have a server alone.
        let hasPrograms = ["psql", "pg_recvlogical"].allSatisfy {
            FileManager.default.isExecutableFile(atPath: "\(folder)/\($0)")
        }
        let parts = ServicePart.allCases.filter { hasPrograms || ![.singles, .language].contains($0) }
        let (rows, hasFailed) = try await measure(parts, program: Self.program)
        #expect(!hasFailed)
        #expect(rows.count == (hasPrograms ? 30 : 22))
        var compared = hasPrograms ? 14 : 10
        #if os(Linux)
            // Processor time and memory.
            compared += hasPrograms ? 5 : 2
        #endif
        #expect(rows.filter { !$0.limit.isEmpty && !$0.ratio.isEmpty }.count == compared)
        #expect(rows.allSatisfy { !$0.goal.isEmpty })
        #if os(Linux)
            #expect(rows.allSatisfy { !["failed", "not measured"].contains($0.ours) })
        #endif
    }

    @Test func aPartThatGoesWrongIsToldAndTheOthersAreMeasured() async throws {
        let (rows, hasFailed) = try await measure([.start, .bulk], program: "/usr/bin/false")
        #expect(hasFailed)
        #expect(rows.map(\.what) == ["start", "bulk"] && rows.allSatisfy { $0.ours == "failed" })
    }
}
