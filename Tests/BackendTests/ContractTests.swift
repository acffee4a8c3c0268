import Foundation
import PowerSyncContractCases
import PowerSyncTestSupport
import Testing

/// The contract, asked of the backend of this repository (backend 9).
///
/// Each case sends in the dialect of its level; the backend is one of L2, so outcomes are asked for in every dialect.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ContractTests {
    private static func catalogue() throws -> ContractCatalogue {
        try ContractCatalogue(folder: Repository.fixtures.appending(path: "contract/backend").path)
    }

    /// All cases but those that are tests of their own.
    static func numbers() throws -> [CaseNumber] {
        try catalogue().cases.filter { entry in
            if case .test = entry.driver { false } else { true }
        }.map(\.number)
    }

    @Test(arguments: try ContractTests.numbers())
    func eachCasePasses(number: CaseNumber) async throws {
        let catalogue = try Self.catalogue()
        let entry = try #require(catalogue[number])
        let verdict: ContractVerdict
        if entry.isAlone {
            let backend = try await ContractBackend.start(entry.backend)
            verdict = try await Self.verdict(entry, catalogue, backend)
            await backend.stop()
        } else {
            verdict = try await Self.verdict(
                entry, catalogue, ContractBackends.shared.backend(entry.backend))
        }
        if let reason = entry.later {
            #expect(verdict != .passed, "\(number) passes: strike it off, \(reason)")
        } else {
            #expect(verdict == .passed, "\(number), \(entry.title)")
        }
    }

    private static func verdict(
        _ entry: ContractCase, _ catalogue: ContractCatalogue, _ backend: ContractBackend
    ) async throws -> ContractVerdict {
        let target = try await backend.target(hasDisabledUser: entry.needs.contains("disabled"))
        return await ContractRun(target, catalogue).run(entry.number)
    }

    /// What a lower profile promises is asked for and told as such.
    @Test func casesOfHigherLevelsAreNotApplicable() async throws {
        let catalogue = try Self.catalogue()
        let backend = try await ContractBackends.shared.backend([:])
        let target = try await backend.target(hasDisabledUser: false, profile: .l0)
        let run = ContractRun(target, catalogue)
        for entry in catalogue.cases where entry.level > .l0 {
            let verdict = await run.run(entry.number)
            #expect(verdict == .notApplicable("level \(entry.level.rawValue)"), "\(entry.number)")
        }
        let number = try #require(CaseNumber("41"))
        let lowest = await run.run(number)
        #expect(lowest == .passed)
    }
}
