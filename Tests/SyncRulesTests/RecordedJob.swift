import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// One thing that the real compiler said, or ours in the form of the admin routes.
struct RecordedLine: Hashable, CustomStringConvertible {
    /// `fatal` or `warning`.
    let level: String
    /// What is said.
    let message: String
    /// The first UTF-16 unit of the YAML that it speaks of.
    let start: Int
    /// The unit behind the last one.
    let end: Int

    var description: String { "\(level) \(start)-\(end) \(message)" }

    /// What is said of a text, without what the admin routes do not say.
    static func lines(_ diagnostics: DiagnosticList, of text: SourceText) -> [RecordedLine] {
        diagnostics.all.compactMap { diagnostic in
            var (message, range) = (diagnostic.message, diagnostic.range)
            switch diagnostic.recorded?.form {
            case .text(let text, let other)?: (message, range) = (text, other ?? range)
            case .silent?: return nil
            case nil: break
            }
            return RecordedLine(
                level: diagnostic.severity.rawValue, message: message, start: text.utf16(range.start),
                end: text.utf16(range.end))
        }
    }
}

/// One recorded configuration of `Tests/Fixtures/language`.
struct RecordedJob {
    /// Beginnings of what the real service's parser of SQL says; what stands beside it on its line is of no compiler.
    private static let parserTexts = ["Syntax error at", "Unexpected end of input", "invalid syntax at"]

    /// Its number in its file.
    let id: Int64
    /// The configuration.
    let yaml: String
    /// Whether the compiler was told of the tables.
    let hasSchema: Bool
    /// What the compiler said.
    let lines: [RecordedLine]
    /// All of what came of it.
    let result: JSON

    private init(_ json: JSON) throws {
        id = try #require(json["id"]?.int64Value)
        yaml = try #require(json["yaml"]?.stringValue)
        hasSchema = json["schema"]?.boolValue ?? false
        result = try #require(json["result"])
        lines = (result["errors"]?.arrayValue ?? []).map { error in
            RecordedLine(
                level: error["level"]?.stringValue ?? "", message: error["message"]?.stringValue ?? "",
                start: Int(error["start"]?.int64Value ?? 0), end: Int(error["end"]?.int64Value ?? 0))
        }
    }

    /// Whether the configuration can be used.
    var isAccepted: Bool { !lines.contains { $0.level == "fatal" } }

    /// The line of the YAML that a place is on.
    func number(_ line: RecordedLine) -> Int { Array(yaml.utf16).prefix(line.start).count { $0 == 0x0A } }

    /// The lines of the YAML on which the real service's parser gave up.
    var refused: Set<Int> {
        Set(
            lines.filter { line in Self.parserTexts.contains { line.message.hasPrefix($0) } }
                .map { number($0) })
    }

    /// All configurations of a file.
    static func all(_ file: String) throws -> [RecordedJob] {
        let text = String(decoding: try Repository.fixture("language/\(file).jsonl"), as: UTF8.self)
        return try text.split(separator: "\n").map { try RecordedJob(try JSON.parse(String($0))) }
    }

    /// The tables that the compiler was told of.
    static func schema(_ file: String) throws -> SourceSchema {
        let worlds = try JSON.parse(Repository.fixture("language/worlds.json"))
        let members = try #require(worlds["schema"]?.objectMembers)
        let tables = members.filter { ($0.name == "t") == (file == "expressions") }.map { table in
            let columns = (table.value.objectMembers ?? []).map { column in
                SourceSchema.Column(name: ExactText(column.name), type: .any)
            }
            return SourceSchema.Table(
                schema: ExactText("public"), name: ExactText(table.name), columns: columns)
        }
        return SourceSchema(tables)
    }
}
