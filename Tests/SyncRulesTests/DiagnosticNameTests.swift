import Foundation
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Names and texts of what is wrong with a configuration (service 6.2 to 6.11, LANGUAGE.md 10).
struct DiagnosticNameTests {
    /// Texts of the real service's own parsers, of which ours has others.
    private static let parserTexts = [
        "Syntax error at", "Unexpected ", "invalid syntax at", "Tabs are not allowed", "All mapping items",
        "All sequence items", "Map keys must be unique", "Implicit ", "Nested mappings",
        "JSON value expected", "Expected end of input", "Cannot read properties", "Cannot call uuid_blob",
    ]

    /// Whether a text with places fits a message.
    private func fits(_ text: String, _ message: String) -> Bool {
        let parts = text.components(separatedBy: "{}")
        guard message.hasPrefix(parts[0]), message.hasSuffix(parts[parts.count - 1]) else { return false }
        guard parts.count > 1 else { return message == text }
        var rest = message.dropFirst(parts[0].count)
        for part in parts.dropFirst() where !part.isEmpty {
            guard let found = rest.range(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return true
    }

    @Test(arguments: ["expressions", "configurations", "mistakes"])
    func everyRecordedMessageIsOneOfOurs(_ file: String) throws {
        let texts = DiagnosticName.allCases.flatMap { name -> [(text: String, severity: Severity)] in
            let both: [String?] = [name.text, name.legacyText]
            return both.compactMap { $0 }.filter { $0 != "{}" }.map { (text: $0, severity: name.severity) }
        }
        var known: Set<String> = []
        let lines = String(decoding: try Repository.fixture("language/\(file).jsonl"), as: UTF8.self)
        for line in lines.split(separator: "\n") {
            let errors = try JSON.parse(String(line))["result"]?["errors"]?.arrayValue ?? []
            for error in errors {
                let message = try #require(error["message"]?.stringValue)
                let level = try #require(error["level"]?.stringValue)
                guard !Self.parserTexts.contains(where: { message.hasPrefix($0) }),
                    known.insert(level + message).inserted
                else { continue }
                let found = texts.contains { fits($0.text, message) && $0.severity.rawValue == level }
                #expect(found, "\(level): \(message)")
            }
        }
        #expect(known.count >= 3)
    }

    @Test(arguments: DiagnosticName.allCases)
    func namesAreWordsThatHyphensJoin(_ name: DiagnosticName) {
        #expect(name.rawValue.wholeMatch(of: /[a-z0-9]+(-[a-z0-9]+)*/) != nil)
        let places = name.text.components(separatedBy: "{}").count - 1
        let filled = name.message(Array(repeating: "<x>", count: places))
        #expect(!filled.contains("{}") && filled.components(separatedBy: "<x>").count == places + 1)
    }

    @Test func messagesHaveTheirPlacesFilledIn() {
        #expect(DiagnosticName.unknownKey.message(["a{}b"]) == "Unknown key 'a{}b'.")
        let count = DiagnosticName.columnCount.message(["3", "1"])
        #expect(count == "Expected this subquery to have 3 columns, it actually has 1")
        #expect(DiagnosticName.notASelect.message() == "Expected a SELECT statement")
        #expect(DiagnosticName.notASelect.message(isLegacy: true) == "Only SELECT statements are supported")
        #expect(DiagnosticName.singleTable.message(isLegacy: true) == "Must SELECT from a single table")
    }

    @Test func aDiagnosticHasTheTextAndTheSeverityOfItsName() {
        let range = TextRange(start: 3, end: 5)
        let warning = Diagnostic(.foldedName, ["X"], at: range)
        #expect(warning.severity == .warning && warning.range == range && warning.isShown)
        #expect(warning.message == "Unquoted identifiers are converted to lower-case. Use \"X\" instead.")
        let silent = Diagnostic(
            .severalStatements, at: range, severity: .warning, recorded: Recorded(.silent))
        #expect(silent.severity == .warning && silent.isShown)
        let there = Recorded(.text("Cannot read properties", nil), isOnlyThere: true)
        #expect(!Diagnostic(.emptyDocument, at: range, recorded: there).isShown)
        var list = DiagnosticList()
        list.add(warning)
        #expect(!list.isFatal)
        list.add(Diagnostic(.emptyDocument, at: range))
        #expect(list.isFatal && list.all.map(\.name) == [.foldedName, .emptyDocument])
    }
}
