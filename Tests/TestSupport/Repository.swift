import Foundation

/// Files of this repository and what was built from it.
package enum Repository {
    /// The folder of the package.
    package static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The folder `Tests/Fixtures`.
    package static let fixtures = root.appending(path: "Tests/Fixtures")

    /// Returns the text of a file of the package.
    package static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// Returns the bytes of a file of `Tests/Fixtures`.
    package static func fixture(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: fixtures.appending(path: path)))
    }

    /// Returns the files with an ending below a folder of `Tests/Fixtures`, sorted by path; throws if there is none.
    package static func fixtureFiles(_ folder: String, ending: String = "json") throws -> [URL] {
        let files = FileManager.default.enumerator(
            at: fixtures.appending(path: folder), includingPropertiesForKeys: nil)
        let found = (files?.allObjects ?? []).compactMap { $0 as? URL }
            .filter { $0.pathExtension == ending }.sorted { $0.path < $1.path }
        if found.isEmpty { throw CocoaError(.fileReadNoSuchFile) }
        return found
    }

    /// Returns the numbers that a table of vectors of `Documentation/Contract/service.md` has, by the letter before them.
    package static func vectorNumbers(_ letter: Character) throws -> Set<Int> {
        let lines = try text("Documentation/Contract/service.md").split(separator: "\n")
        // Elsewhere codes of errors look alike.
        let rows = lines.drop { $0 != "## 9. Test vectors" }.prefix { !$0.hasPrefix("## 10.") }
            .filter { $0.hasPrefix("| \(letter)") }
        return Set(rows.compactMap { row in Int(row.dropFirst(3).prefix { $0.isNumber }) })
    }

    /// Returns the numbers of those tests of a file that are named by a letter and a number, and expect something.
    package static func numberedTests(_ letter: Character, in path: String) throws -> [Int] {
        try text(path).components(separatedBy: "\n    @Test").dropFirst().compactMap { test in
            let parts = test.components(separatedBy: "func \(letter)")
            guard parts.count > 1, parts[1].contains("#expect(") else { return nil }
            return Int(parts[1].prefix { $0.isNumber })
        }
    }

    /// Returns the names of suites, tests and all else that the sources of tests declare as a structure or a function.
    package static func declaredInTests() throws -> Set<String> {
        let files = FileManager.default.enumerator(
            at: root.appending(path: "Tests"), includingPropertiesForKeys: nil)
        var names: Set<String> = []
        for case let file as URL in files?.allObjects ?? [] where file.pathExtension == "swift" {
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

    /// Returns the path of an executable of this package, which lies beside the tests; their target depends on it.
    package static func executable(_ name: String) -> String {
        let bundle = Bundle.allBundles.map(\.bundleURL).first { $0.pathExtension == "xctest" }
        let beside = bundle ?? URL(filePath: CommandLine.arguments[0])
        return beside.deletingLastPathComponent().appending(path: name).path
    }
}
