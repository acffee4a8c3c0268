import Foundation
import PowerSyncTestSupport
import Testing

/// The last section of each of the service's pages names tests that are there.
struct ProofPageTests {
    @Test(arguments: ["LANGUAGE.md", "DESIGN.md"])
    func everyTestThatIsNamedIsThere(_ page: String) throws {
        let declared = try Repository.declaredInTests()
        let text = try Repository.text("MockService/\(page)")
        let proofs = try #require(text.components(separatedBy: "\n## ").last)
        // A suite, one of its tests, or one more of a suite that was named before.
        let named = /`([A-Z]\w*Tests)(?:\.(\w+))?`|`\.([a-z]\w*)`/
        var count = 0
        for match in proofs.matches(of: named) {
            for name in [match.1, match.2, match.3].compactMap({ $0 }) {
                #expect(declared.contains(String(name)), "\(match.0)")
                count += 1
            }
        }
        #expect(count > 30, "the section is read")
    }
}
