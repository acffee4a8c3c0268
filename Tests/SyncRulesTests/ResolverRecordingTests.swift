import Foundation
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What the real service says of names in queries of edition 3: `Tests/Fixtures/language`.
struct ResolverRecordingTests {
    /// What is told of names, expressions and columns, and of the kinds of statements and joins.
    private static let names: [DiagnosticName] = [
        .notASelect, .unsupportedLock, .duplicateSource, .sqlParameter, .unknownFunction, .notDeterministic,
        .tooFewArguments, .tooManyArguments, .unknownRequestFunction, .invalidFunctionSchema, .singleArgument,
        .noArguments, .userIDElsewhere, .schemaOnSubquery, .aggregateClauses, .likeUnsupported,
        .operatorUnsupported, .minusUnsupported, .castInvalid, .expressionUnsupported, .subqueryPosition,
        .listInColumn, .ambiguousColumn, .unknownSource, .columnNotInSubquery, .duplicateColumn, .columnCount,
        .singleColumn, .cteSingleColumn, .starInSubquery, .starElsewhere, .noTableColumn, .twoPrimaries,
        .syncsRequest, .unnamedColumn, .starAfterAlias, .aliasRenames, .unreferencedCte, .cteShadows,
        .tableUnknown, .columnUnknown, .suffixEmpty,
    ]
    /// Messages of names that have a place at their beginning.
    private static let clauses = ["GROUP BY", "ORDER BY", "LIMIT", "HAVING", "USING", "SKIP", "FULL JOIN"]
    /// What leaves queries out of a document.
    private static let unread: [DiagnosticName] = [
        .keyNotText, .expectedMap, .expectedScalar, .expectedSequence, .streamsMissing,
    ]
    /// Beginnings of what the real service's parser of SQL says.
    private static let parserTexts = ["Syntax error at", "Unexpected end of input", "invalid syntax at"]

    /// One thing that is said, as the recording has it.
    private struct Line: Hashable, CustomStringConvertible {
        let level: String
        let message: String
        let start: Int
        let end: Int

        var description: String { "\(level) \(start)-\(end) \(message)" }
    }

    /// One recorded configuration.
    private struct Job {
        let id: Int64
        let yaml: String
        let hasSchema: Bool
        let lines: [Line]

        init(_ json: JSON) throws {
            id = try #require(json["id"]?.int64Value)
            yaml = try #require(json["yaml"]?.stringValue)
            hasSchema = json["schema"]?.boolValue ?? false
            lines = (json["result"]?["errors"]?.arrayValue ?? []).map { error in
                Line(
                    level: error["level"]?.stringValue ?? "", message: error["message"]?.stringValue ?? "",
                    start: Int(error["start"]?.int64Value ?? 0), end: Int(error["end"]?.int64Value ?? 0))
            }
        }

        /// The line of the YAML that a place is on.
        func number(_ line: Line) -> Int { Array(yaml.utf16).prefix(line.start).count { $0 == 0x0A } }
    }

    private func jobs(_ file: String) throws -> [Job] {
        let text = String(decoding: try Repository.fixture("language/\(file).jsonl"), as: UTF8.self)
        return try text.split(separator: "\n").map { try Job(try JSON.parse(String($0))) }
    }

    /// The tables that the recorded compiler was told of.
    private func schema(_ file: String) throws -> SourceSchema {
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

    private func isOfNames(_ message: String) -> Bool {
        Self.clauses.contains { message == "\($0) is not supported" }
            || Self.names.contains { name in
                let parts = name.text.components(separatedBy: "{}")
                guard parts.count > 1 else { return message == name.text }
                return message.hasPrefix(parts[0]) && message.hasSuffix(parts[parts.count - 1])
            }
    }

    /// What is said of the queries of a document; and whether all of them have a row to sync.
    private func resolve(
        _ document: SyncDocument, _ schema: SourceSchema?
    ) -> (diagnostics: DiagnosticList, isWhole: Bool) {
        var diagnostics = DiagnosticList()
        var isWhole = true
        var resolver = StreamsResolver(document, schema: schema, &diagnostics)
        for stream in document.streams {
            resolver.begin(stream, &diagnostics)
            for query in stream.queries where resolver.resolve(query, &diagnostics) == nil { isWhole = false }
        }
        resolver.finish(&diagnostics)
        return (diagnostics, isWhole)
    }

    /// What is said, in the form of the admin routes.
    private func said(_ diagnostics: DiagnosticList, _ text: SourceText) -> [Line] {
        diagnostics.all.compactMap { diagnostic in
            var (message, range) = (diagnostic.message, diagnostic.range)
            switch diagnostic.recorded?.form {
            case .text(let text, let other)?: (message, range) = (text, other ?? range)
            case .silent?: return nil
            case nil: break
            }
            return Line(
                level: diagnostic.severity.rawValue, message: message, start: text.utf16(range.start),
                end: text.utf16(range.end))
        }
    }

    @Test(arguments: [("mistakes", 1_100), ("configurations", 800), ("expressions", 170)])
    func namesAreJudgedAsRecorded(_ file: String, _ least: Int) throws {
        let tables = try schema(file)
        var count = 0
        for job in try jobs(file) {
            let text = SourceText(job.yaml)
            var broken = DiagnosticList()
            guard let document = DocumentReader.read(text, &broken), document.edition == 3,
                !document.allDiagnostics.all.contains(where: { Self.unread.contains($0.name) })
            else { continue }
            let (diagnostics, isWhole) = resolve(document, job.hasSchema ? tables : nil)
            for range in diagnostics.all.map(\.range) {
                #expect(range.start >= 0 && range.end <= text.bytes.count, "\(file) \(job.id)")
            }
            // What stands beside a syntax error on its line is of no compiler.
            let refused = Set(
                job.lines.filter { line in Self.parserTexts.contains { line.message.hasPrefix($0) } }
                    .map { job.number($0) })
            let ours = said(diagnostics, text)
            let fatal = Set(ours.filter { $0.level == "fatal" }.map { job.number($0) })
            #expect(refused.isSubset(of: fatal), "\(file) \(job.id): \(ours)")
            var missing = job.lines.filter { isOfNames($0.message) && !refused.contains(job.number($0)) }
            count += missing.count
            var others: [Line] = []
            for line in ours where isOfNames(line.message) && !refused.contains(job.number(line)) {
                if let index = missing.firstIndex(of: line) {
                    missing.remove(at: index)
                } else {
                    others.append(line)
                }
            }
            #expect(
                missing.isEmpty && others.isEmpty,
                "\(file) \(job.id): missing \(missing), too many \(others)")
            if !job.lines.contains(where: { $0.level == "fatal" }) {
                #expect(isWhole, "\(file) \(job.id) has a query without a row")
            }
        }
        #expect(count >= least, "\(count) were compared")
    }
}
