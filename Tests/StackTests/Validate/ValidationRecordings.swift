import Foundation
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What the real service's route `validate` said of configurations (`validation-messages`, `invalid-*`).
struct ValidationRecording: Sendable, CustomTestStringConvertible {
    /// A message, with its place in UTF-16 units of the configuration.
    struct Message: Sendable, Hashable {
        let level: String
        let text: ExactText
        let range: Range<Int>?
    }

    /// The file and the number of the step.
    let name: String
    /// The configuration.
    let yaml: String
    /// What was said of it, without what the database was asked for.
    let messages: [Message]

    var testDescription: String { name }

    /// The edition of the configuration.
    var edition: Int {
        for edition in [2, 3, 4] where yaml.contains("edition: \(edition)") { return min(edition, 3) }
        return 1
    }
}

/// The recordings of `Tests/Fixtures/service/curated`.
enum ValidationRecordings {
    /// The tables of their databases.
    static let schema = SourceSchema([
        table("lists", [("id", .text), ("owner_id", .text), ("name", .text), ("created_at", .text)]),
        table(
            "todos",
            [
                ("id", .text), ("list_id", .text), ("description", .text), ("done", .integer),
                ("position", .integer), ("score", .real), ("tags", .text),
            ]),
    ])

    private static func table(_ name: String, _ columns: [(String, ValueType)]) -> SourceSchema.Table {
        SourceSchema.Table(
            schema: ExactText("public"), name: ExactText(name),
            columns: columns.map { SourceSchema.Column(name: ExactText($0.0), type: $0.1) })
    }

    /// All of them.
    static func all() throws -> [ValidationRecording] {
        var all: [ValidationRecording] = []
        for file in try Repository.fixtureFiles("service/curated") {
            let name = file.deletingPathExtension().lastPathComponent
            guard name == "validation-messages" || name.hasPrefix("invalid-") else { continue }
            let scenario = try JSON.parse(try String(contentsOf: file, encoding: .utf8))
            for (number, step) in (scenario["steps"]?.arrayValue ?? []).enumerated() {
                let yaml = try #require(step["http"]?["body"]?["sync_rules"]?.stringValue)
                let errors = try #require(step["answer"]?["body"]?["data"]?["errors"]?.arrayValue)
                all.append(
                    ValidationRecording(
                        name: "\(name) \(number)", yaml: yaml,
                        messages: try errors.map(message).filter { !isOfTable($0) }))
            }
        }
        return all
    }

    private static func message(_ error: JSON) throws -> ValidationRecording.Message {
        let place = error["location"]
        let start = place?["start_offset"]?.int64Value.map { Int($0) }
        let end = place?["end_offset"]?.int64Value.map { Int($0) }
        var range: Range<Int>?
        if let start, let end { range = start..<end }
        return ValidationRecording.Message(
            level: try #require(error["level"]?.stringValue),
            text: ExactText(try #require(error["message"]?.stringValue)), range: range)
    }

    /// Whether a message is about a table in the database, which the service asks for beside the compiler.
    private static func isOfTable(_ message: ValidationRecording.Message) -> Bool {
        let text = message.text.text
        return text.hasPrefix("Table \"")
            && (text.hasSuffix("\" not found.") || text.contains("\" is not part of publication '"))
    }
}
