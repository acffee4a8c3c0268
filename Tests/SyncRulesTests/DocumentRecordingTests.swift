import Foundation
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What the real service says of the YAML of configurations: `Tests/Fixtures/language`.
struct DocumentRecordingTests {
    /// What is told by the reader of documents.
    private static let names: [DiagnosticName] = [
        .rootNotMap, .unknownKey, .keyNotText, .expectedScalar, .expectedSequence, .expectedMap,
        .mustBeBoolean,
        .mustBeNumeric, .mustBeBelowFour, .streamsMissing, .definitionsMissing, .definitionsInEdition3,
        .streamNeedsEdition2, .alphaStreams, .cteNeedsCompiler, .queriesNeedCompiler, .cteNeedsEdition3,
        .queryXorQueries, .duplicateDefinition, .definitionNotMap, .dataMissing, .parametersNotText,
        .priorityInvalid, .precisionNeedsISO, .engineNeedsEdition, .engineNeedsJSON, .storageVersionOld,
    ]
    private static let crash = "Cannot read properties of null"
    /// Beginnings of what the real service's parser of YAML says.
    private static let parserTexts = [
        "Unexpected scalar", "Unexpected map-", "Unexpected seq-", "Unexpected double-",
        "Tabs are not allowed",
        "All mapping items", "All sequence items", "Map keys must be unique", "Implicit ",
        "Nested mappings",
    ]

    /// One thing that is said, as the recording has it.
    private struct Line: Hashable, CustomStringConvertible {
        let level: String
        let message: String
        let start: Int?
        let end: Int?

        var description: String { "\(level) \(start ?? -1)-\(end ?? -1) \(message)" }
    }

    private func isOfDocuments(_ message: String) -> Bool {
        message.hasPrefix(Self.crash)
            || Self.names.contains { name in
                let parts = name.text.components(separatedBy: "{}")
                guard parts.count > 1 else { return message == name.text }
                return message.hasPrefix(parts[0]) && message.hasSuffix(parts[parts.count - 1])
            }
    }

    /// What ours says, in the form of the admin routes.
    private func said(_ config: CompiledConfig) -> [Line] {
        config.diagnostics.all.compactMap { diagnostic in
            var (message, range): (String, TextRange?) = (diagnostic.message, diagnostic.range)
            switch diagnostic.recorded?.form {
            case .text(let text, let other)?: (message, range) = (text, other)
            case .silent?: return nil
            case nil: break
            }
            return Line(
                level: diagnostic.severity.rawValue, message: message,
                start: range.map { config.text.utf16($0.start) }, end: range.map { config.text.utf16($0.end) }
            )
        }
    }

    @Test(arguments: [("mistakes", 250), ("configurations", 150), ("expressions", 200)])
    func theYAMLIsJudgedAsRecorded(_ file: String, _ least: Int) throws {
        var count = 0
        let text = String(decoding: try Repository.fixture("language/\(file).jsonl"), as: UTF8.self)
        for line in text.split(separator: "\n") {
            let json = try JSON.parse(String(line))
            let id = try #require(json["id"]?.int64Value)
            let yaml = try #require(json["yaml"]?.stringValue)
            let recorded = (json["result"]?["errors"]?.arrayValue ?? []).map { error in
                Line(
                    level: error["level"]?.stringValue ?? "", message: error["message"]?.stringValue ?? "",
                    start: error["start"]?.int64Value.map { Int($0) },
                    end: error["end"]?.int64Value.map { Int($0) })
            }
            let config = SyncConfig.compile(yaml)
            for range in config.diagnostics.all.map(\.range) {
                #expect(range.start >= 0 && range.end <= config.text.bytes.count, "\(file) \(id)")
            }
            let ours = said(config)
            func lineNumber(_ line: Line) -> Int {
                Array(yaml.utf16).prefix(line.start ?? 0).count { $0 == 0x0A }
            }
            let ofParser = recorded.filter { line in
                Self.parserTexts.contains { line.message.hasPrefix($0) }
            }
            if let first = ofParser.first {
                let lines = ours.filter { $0.level == "fatal" }.map { lineNumber($0) }
                #expect(lines.contains(lineNumber(first)), "\(file) \(id): \(first), ours: \(ours)")
                count += 1
                continue
            }
            var missing = recorded.filter { isOfDocuments($0.message) }
            count += missing.count
            var others: [Line] = []
            for line in ours where isOfDocuments(line.message) {
                if let index = missing.firstIndex(of: line) {
                    missing.remove(at: index)
                } else {
                    others.append(line)
                }
            }
            #expect(
                missing.isEmpty && others.isEmpty, "\(file) \(id): missing \(missing), too many \(others)")
        }
        #expect(count >= least, "\(count) were compared")
    }
}
