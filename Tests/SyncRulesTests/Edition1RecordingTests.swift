import Foundation
import PowerSyncSyncRules
import Testing

/// What the real service says of bucket definitions: `Tests/Fixtures/language`.
struct Edition1RecordingTests {
    /// Beginnings of what the real service's parser of YAML says; it says nothing else then.
    private static let yamlTexts = [
        "Unexpected scalar", "Unexpected map-", "Unexpected seq-", "Unexpected double-",
        "Tabs are not allowed", "All mapping items", "All sequence items", "Map keys must be unique",
        "Implicit ",
        "Nested mappings", "Cannot read properties",
    ]
    /// Beginnings of what its parser of JSON says of a constant.
    private static let jsonTexts = ["JSON value expected", "Expected end of input"]

    /// What counts of a message (README of the recordings).
    private func compared(_ line: RecordedLine) -> RecordedLine {
        var message = line.message
        if message.hasPrefix("Left and right sides of OR"), let end = message.range(of: "queries.") {
            message = String(message[..<end.upperBound])
        }
        if message.hasSuffix(" not supported here") { message = "not supported here" }
        return RecordedLine(level: line.level, message: message, start: line.start, end: line.end)
    }

    private func isOf(_ beginnings: [String], _ line: RecordedLine) -> Bool {
        beginnings.contains { line.message.hasPrefix($0) }
    }

    @Test(arguments: [("mistakes", 380), ("configurations", 150), ("expressions", 150)])
    func definitionsAreJudgedAsRecorded(_ file: String, _ least: Int) throws {
        let tables = try RecordedJob.schema(file)
        var count = 0
        for job in try RecordedJob.all(file) where !job.lines.contains(where: { isOf(Self.yamlTexts, $0) }) {
            let text = SourceText(job.yaml)
            var broken = DiagnosticList()
            guard let document = DocumentReader.read(text, &broken), document.edition == 1,
                document.streams.isEmpty
            else { continue }
            let config = SyncConfig.compile(job.yaml, schema: job.hasSchema ? tables : nil)
            for range in config.diagnostics.all.map(\.range) {
                #expect(range.start >= 0 && range.end <= text.bytes.count, "\(file) \(job.id)")
            }
            #expect((config.plan != nil) == job.isAccepted, "\(file) \(job.id)")
            let ours = RecordedLine.lines(config.diagnostics, of: text)
            let refused = job.refused.union(
                job.lines.filter { isOf(Self.jsonTexts, $0) }.map { job.number($0) })
            let fatal = Set(ours.filter { $0.level == "fatal" }.map { job.number($0) })
            #expect(refused.isSubset(of: fatal), "\(file) \(job.id): \(ours)")
            // Beside what a parser says nothing is compared.
            guard refused.isEmpty else { continue }
            count += job.lines.count
            // In the same order, too: the admin routes join them.
            #expect(ours.map(compared) == job.lines.map(compared), "\(file) \(job.id)")
        }
        #expect(count >= least)
    }
}
