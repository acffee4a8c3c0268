import Foundation
import Testing

/// Every vector of client-core 9 has its test.
struct VectorListTests {
    /// Belongs to the SDK.
    private static let ofTheSDK: Set<Int> = [149]

    @Test func everyVectorHasATestWithItsNumber() throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        var found: Set<Int> = []
        for folder in ["ClientTests", "WireTests"] {
            let files = try #require(
                FileManager.default.enumerator(
                    at: tests.appending(path: folder), includingPropertiesForKeys: nil))
            for case let file as URL in files where file.pathExtension == "swift" {
                let text = try String(contentsOf: file, encoding: .utf8)
                for match in text.matches(of: /@Test\(\s*"([0-9]+(?:, [0-9]+)*):/) {
                    found.formUnion(match.1.split(separator: ", ").compactMap { Int($0) })
                }
            }
        }
        let wanted = Set(1...150).subtracting(Self.ofTheSDK)
        #expect(wanted.subtracting(found).sorted() == [])
        #expect(found.subtracting(1...150).sorted() == [])
    }
}
