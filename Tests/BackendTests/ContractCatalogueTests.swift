import Foundation
import PowerSyncContractCases
import PowerSyncTestSupport
import Testing

/// The catalogue is whole, and says of itself what it lacks.
struct ContractCatalogueTests {
    private static func catalogue() throws -> ContractCatalogue {
        try ContractCatalogue(folder: Repository.fixtures.appending(path: "contract/backend").path)
    }

    /// Cases of the contract that nobody has written yet, and what they wait for (Backend/DESIGN.md 13).
    private static let missing: [String: [Int]] = [
        "1b, 3a: providers, proxies, cookies, sessions and rotation": [33, 37, 171, 172, 177],
        "1c: roles": [175],
        "limits of section 7": [137],
        "what stops, kills and delays a database": [118, 119, 120, 121, 122, 123, 124, 125, 126],
        "the log and the start of a process, slow peers": [134, 135, 138],
        "a sync service beside it": [146, 147],
        "tables of other fixtures: a collation, owners that are numbers": [168, 169],
    ]

    @Test func numbersAreThoseOfTheContract() throws {
        let cases = try Self.catalogue().cases
        let missing = Set(Self.missing.values.joined())
        let written = Set(cases.map(\.number.number))
        #expect(written.isDisjoint(with: missing), "what is written is struck off")
        #expect(written.union(missing) == Set(1...180))
        // Parts are lettered from a on, and a case that has parts is not a whole besides.
        for (number, parts) in Dictionary(grouping: cases, by: \.number.number) {
            let letters = parts.map(\.number.part)
            let expected = letters.count == 1 ? [""] : Array(["a", "b", "c", "d"].prefix(letters.count))
            #expect(letters == expected, "\(number)")
        }
    }

    @Test func titlesOfTheContractAreThere() throws {
        let page = try Repository.text("Documentation/Contract/backend.md")
        for entry in try Self.catalogue().cases where entry.number.number <= 156 {
            let row = "\n| \(entry.number.number) | L"
            #expect(page.contains(row), "\(entry.number)")
        }
    }

    @Test func laterAreTheseAlone() throws {
        let later = try Self.catalogue().cases.filter { $0.later != nil }.map(\.number.description)
        #expect(later == ["14", "18", "44b", "64b", "66", "67", "102b", "103", "104"])
    }

    @Test func securityIsMust() throws {
        for entry in try Self.catalogue().cases where entry.isSecurity {
            #expect(entry.severity == .must, "\(entry.number)")
        }
    }

    @Test func whatIsCodeHasCode() throws {
        let code = try Self.catalogue().cases.filter { $0.driver == .swift }.map(\.number)
        #expect(Set(code) == Set(SwiftCases.all.keys))
    }

    @Test func testsThatAreNamedAreThere() throws {
        var count = 0
        for entry in try Self.catalogue().cases {
            guard case .test(let name) = entry.driver else { continue }
            let parts = name.split(separator: ".")
            try #require(parts.count == 2, "\(entry.number)")
            let text = try Repository.text("Tests/BackendTests/\(parts[0]).swift")
            #expect(text.contains("struct \(parts[0])") && text.contains("func \(parts[1])("), "\(name)")
            count += 1
        }
        #expect(count == 9)
    }
}
