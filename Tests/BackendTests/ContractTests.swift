import Foundation
import PowerSyncContractCases
import PowerSyncTestSupport
import Testing

/// The contract, asked of the backend of this repository (backend 9).
///
/// Each case sends in the dialect of its level; the backend is one of L2, so outcomes are asked for in every dialect.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ContractTests {
    /// All cases but those that are tests of their own.
    static func numbers() throws -> [CaseNumber] { try ContractCatalogue.ours().numbersOfCases }

    @Test(arguments: try ContractTests.numbers())
    func eachCasePasses(number: CaseNumber) async throws { try await ContractBackends.shared.ask(number) }

    /// What a lower profile promises is asked for and told as such.
    @Test func casesOfHigherLevelsAreNotApplicable() async throws {
        let catalogue = try ContractCatalogue.ours()
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
