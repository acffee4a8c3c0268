import Foundation
import PowerSyncTestSupport
import Testing

/// Every failure of reliability 1.7 that a client can have has a test with its number, told from the text of the tests.
///
/// What cannot be seen is as for vectors (`VectorListTests`).
struct ReliabilityListTests {
    /// Those of the service.
    private static let ofOthers = Set(16...19)

    @Test func everyKnownFailureHasATestWithItsNumber() throws {
        let rows = try Repository.text("Documentation/Contract/reliability.md").split(separator: "\n")
            .filter { $0.hasPrefix("| R") }
        let known = Set(rows.flatMap { Self.numbers(in: String($0.prefix(6))) })
        #expect(known == Set(1...24))
        var found: Set<Int> = []
        let files = FileManager.default.enumerator(
            at: Repository.root.appending(path: "Tests/ClientTests"), includingPropertiesForKeys: nil)
        for case let file as URL in try #require(files) where file.pathExtension == "swift" {
            let text = TestText(try String(contentsOf: file, encoding: .utf8))
            for test in text.tests where test.canFail { found.formUnion(Self.numbers(in: test.title)) }
        }
        let wanted = known.subtracting(Self.ofOthers)
        #expect(wanted.subtracting(found).sorted() == [])
        #expect(found.subtracting(wanted).sorted() == [])
    }

    /// The numbers that a text names: `R7 …`, `146 R15 …`, `52: R22 …`.
    private static func numbers(in text: String) -> [Int] {
        text.split { " ,:|".contains($0) }.compactMap { $0.first == "R" ? Int($0.dropFirst()) : nil }
    }

    @Test(
        arguments: [
            ("R7 a", [7]), ("146 R15 What is", [15]), ("52: R22 a file", [22]), ("R1, R3: b", [1, 3]),
            ("Rows of R", []), ("7 a", []), ("R7a", []),
        ] as [(String, [Int])])
    func aNumberIsAWordOfItsOwn(_ title: String, _ numbers: [Int]) {
        #expect(Self.numbers(in: title) == numbers)
    }
}
