import Foundation
import PowerSyncTestSupport
import Testing

/// The page of what readings of the backend found names tests that are there.
struct BackendReviewTests {
    /// The names of suites, tests and all else that the sources of tests declare as a structure or a function.
    private static func declared() throws -> Set<String> {
        let folder = Repository.root.appending(path: "Tests")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects
        var names: Set<String> = []
        for case let file as URL in files ?? [] where file.pathExtension == "swift" {
            var isDeclared = false
            let text = try String(contentsOf: file, encoding: .utf8)
            // By bytes: it is much text.
            for word in text.utf8.split(whereSeparator: { !isOfWord($0) }) {
                if isDeclared { names.insert(String(Substring(word))) }
                isDeclared = word.elementsEqual("struct".utf8) || word.elementsEqual("func".utf8)
            }
        }
        return names
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte) || byte == 0x5F
    }

    @Test func everyTestThatIsNamedIsThere() throws {
        let declared = try Self.declared()
        // A suite, one of its tests, and more of them behind commas.
        let named = /([A-Z]\w*Tests)(?:\.(\w+)((?:, [a-z]+[A-Z]\w*)*))?(?![\w\/])/
        var count = 0
        for line in try Repository.text("Documentation/BackendReview.md").split(separator: "\n") {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
            guard line.hasPrefix("|"), cells.count > 4 else { continue }
            for match in cells[3].matches(of: named) {
                let (_, suite, first, others) = match.output
                let tests = (first.map { [$0] } ?? []) + (others ?? "").split(separator: ", ")
                for name in [suite] + tests { #expect(declared.contains(String(name)), "\(suite) \(name)") }
                count += tests.count
            }
        }
        #expect(count > 100, "the page is read")
    }
}
