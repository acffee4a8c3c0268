import PowerSyncSyncRules
import PowerSyncWire
import Testing

@testable import PowerSyncStack

/// What the real service said of configurations, and what ours say in its form (service 1.10, 6.11).
struct ValidationRecordingTests {
    /// Beginnings of texts of the real service's parsers of SQL and YAML, which ours are not.
    private static let parserTexts = ["Syntax error at", "Map keys must be unique", "Flow sequence in block"]

    /// Messages as the route has them: if one is fatal, all are one.
    private static func joined(_ config: CompiledConfig) -> [ValidationRecording.Message] {
        let all = LanguageMessage.all(of: config)
        guard all.contains(where: { $0.severity == .fatal }) else {
            return all.map {
                ValidationRecording.Message(level: $0.severity.rawValue, text: $0.message, range: $0.range)
            }
        }
        // The route says nothing of keys that nobody knows behind what is missing (service 6.1).
        let isMissing = all.contains { $0.message.text == DiagnosticName.definitionsMissing.message() }
        let texts = all.map(\.message.text).filter { !(isMissing && $0.hasPrefix("Unknown key '")) }
        let text = ExactText(texts.joined(separator: ", "))
        return [ValidationRecording.Message(level: Severity.fatal.rawValue, text: text, range: nil)]
    }

    private func check(editions: ClosedRange<Int>) throws -> Int {
        var count = 0
        for recording in try ValidationRecordings.all() where editions.contains(recording.edition) {
            let config = SyncConfig.compile(recording.yaml, schema: ValidationRecordings.schema)
            count += 1
            if let text = recording.messages.first?.text.text,
                Self.parserTexts.contains(where: { text.hasPrefix($0) })
            {
                #expect(config.plan == nil, "\(recording.name)")
            } else {
                let isAccepted = !recording.messages.contains { $0.level == Severity.fatal.rawValue }
                #expect((config.plan != nil) == isAccepted, "\(recording.name)")
                #expect(Self.joined(config) == recording.messages, "\(recording.name)")
            }
        }
        return count
    }

    @Test func ofEdition3() throws { #expect(try check(editions: 3...3) == 66) }

    @Test func ofEdition1() throws { #expect(try check(editions: 1...1) == 15) }
}
