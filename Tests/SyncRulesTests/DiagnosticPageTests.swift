import PowerSyncSyncRules
import PowerSyncTestSupport
import Testing

/// The page that lists what is told of a sync config.
struct DiagnosticPageTests {
    @Test func everyNameIsListedWithItsText() throws {
        let page = try Repository.text("Documentation/Diagnostics.md").split(separator: "\n")
        let rows = page.filter { $0.hasPrefix("| `") }
        #expect(rows.count == DiagnosticName.allCases.count)
        for (row, name) in zip(rows, DiagnosticName.allCases) {
            let level = name.severity == .fatal ? "error" : "warning"
            let start = "| `\(name.rawValue)` | \(level) | "
            if name.text == "{}" {
                #expect(row.hasPrefix("\(start)(what "))
            } else {
                let text = name.text.replacing("{}", with: "…").replacing("|", with: "\\|")
                #expect(row == "\(start)`` \(text) `` |")
            }
        }
    }
}
