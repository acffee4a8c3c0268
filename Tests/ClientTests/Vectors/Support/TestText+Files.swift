import Foundation
import PowerSyncTestSupport
import Testing

extension TestText {
    /// Returns the tests in the Swift files below folders of the package.
    ///
    /// - Parameters:
    ///   - folders: the folders.
    ///   - mark: what a file must have in its text to be looked at.
    /// - Returns: the tests.
    /// - Throws: for a folder or a file that cannot be read.
    static func tests(below folders: String..., having mark: String = "@Test") throws -> [Test] {
        var tests: [Test] = []
        for folder in folders {
            let files = FileManager.default.enumerator(
                at: Repository.root.appending(path: folder), includingPropertiesForKeys: nil)
            for case let file as URL in try #require(files) where file.pathExtension == "swift" {
                let text = try String(contentsOf: file, encoding: .utf8)
                if text.contains(mark) { tests += TestText(text).tests }
            }
        }
        return tests
    }
}
