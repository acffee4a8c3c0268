import Foundation
import PowerSyncTestSupport
import Testing

/// The table of codes in client-api 1.16 has what an app can meet, and nothing else.
struct ErrorCodeListTests {
    @Test func theContractHasTheCodesOfTheClient() throws {
        let source = try Repository.text("Client/Errors/PowerSyncError+Code.swift")
        let declared = source.matches(of: /public static let (\w+) = Code\(rawValue: "(\w+)"\)/)
        for match in declared { #expect(match.1 == match.2) }
        #expect(declared.count > 30)

        let contract = try Repository.text("Documentation/Contract/client-api.md")
        let lines = contract.split(separator: "\n", omittingEmptySubsequences: false)
        let head = try #require(lines.firstIndex(of: "| Code | When |"))
        // Below the head is the line of dashes.
        let rows = lines[(head + 2)...].prefix { $0.hasPrefix("|") }
        let listed = rows.flatMap { row in
            row.split(separator: "|")[0].matches(of: /`(\w+)`/).map { String($0.1) }
        }
        #expect(listed.sorted() == declared.map { String($0.1) }.sorted())
    }
}
