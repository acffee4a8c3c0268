import PowerSyncTestSupport
import Testing

/// The page of what readings of the backend found names tests that are there.
struct BackendReviewTests {
    @Test func everyTestThatIsNamedIsThere() throws {
        let declared = try Repository.declaredInTests()
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
