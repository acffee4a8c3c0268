import Foundation
import PowerSyncContractCases
import PowerSyncTestSupport
import Testing

/// The catalogue is whole, and says of itself what it lacks.
struct ContractCatalogueTests {
    @Test func numbersAreThoseOfTheContract() throws {
        let cases = try ContractCatalogue.ours().cases
        #expect(Set(cases.map(\.number.number)) == Set(1...180))
        // Parts are lettered from a on, and a case that has parts is not a whole besides.
        for (number, parts) in Dictionary(grouping: cases, by: \.number.number) {
            let letters = parts.map(\.number.part)
            let expected = letters.count == 1 ? [""] : Array(["a", "b", "c", "d"].prefix(letters.count))
            #expect(letters == expected, "\(number)")
        }
    }

    @Test func titlesOfTheContractAreThere() throws {
        let page = try Repository.text("Documentation/Contract/backend.md")
        for entry in try ContractCatalogue.ours().cases where entry.number.number <= 156 {
            let row = "\n| \(entry.number.number) | L"
            #expect(page.contains(row), "\(entry.number)")
        }
    }

    @Test func laterAreTheseAlone() throws {
        let later = try ContractCatalogue.ours().cases.filter { $0.later != nil }.map(\.number.description)
        #expect(later == ["14", "18", "44b", "64b", "66", "67", "102b", "103", "104"])
    }

    @Test func securityIsMust() throws {
        for entry in try ContractCatalogue.ours().cases where entry.isSecurity {
            #expect(entry.severity == .must, "\(entry.number)")
        }
    }

    @Test func whatIsCodeHasCode() throws {
        let code = try ContractCatalogue.ours().cases.filter { $0.driver == .swift }.map(\.number)
        #expect(Set(code) == Set(SwiftCases.all.keys))
    }

    /// The source of a suite of tests.
    private static func source(of suite: String) throws -> String? {
        let head = Data("struct \(suite) {".utf8)
        for folder in ["BackendTests", "EndToEndTests", "HTTPServerTests"] {
            let files = FileManager.default.enumerator(
                at: Repository.root.appending(path: "Tests/" + folder), includingPropertiesForKeys: nil)
            for case let file as URL in files?.allObjects ?? [] where file.pathExtension == "swift" {
                let text = try Data(contentsOf: file)
                if text.firstRange(of: head) != nil { return String(decoding: text, as: UTF8.self) }
            }
        }
        return nil
    }

    /// Attachments, and what is done to a process, its database or a service beside it.
    @Test func testsThatAreNamedAreThere() throws {
        var named: [String] = []
        for entry in try ContractCatalogue.ours().cases {
            guard case .test(let name) = entry.driver else { continue }
            let parts = name.split(separator: ".").map(String.init)
            try #require(parts.count == 2, "\(entry.number)")
            let text = try #require(try Self.source(of: parts[0]), "\(name)")
            #expect(text.contains("func \(parts[1])("), "\(name)")
            named.append(entry.number.description)
        }
        let others =
            ["33", "37"] + (118...126).map(String.init)
            + ["134", "135a", "135b", "137a", "137b", "138", "146", "147"]
        #expect(named == others + (148...156).map(String.init) + ["168", "169", "175"])
    }
}
