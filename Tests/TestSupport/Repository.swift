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

    /// Returns the path of an executable of this package, which lies beside the tests; their target depends on it.
    package static func executable(_ name: String) -> String {
        let bundle = Bundle.allBundles.map(\.bundleURL).first { $0.pathExtension == "xctest" }
        let beside = bundle ?? URL(filePath: CommandLine.arguments[0])
        return beside.deletingLastPathComponent().appending(path: name).path
    }
}
