import Foundation
import PowerSyncSyncRules
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

    @Test(arguments: [("mistakes", 1_100), ("configurations", 800), ("expressions", 170)])
    func namesAreJudgedAsRecorded(_ file: String, _ least: Int) throws {
        let tables = try RecordedJob.schema(file)
        var count = 0
        for job in try RecordedJob.all(file) {
            let text = SourceText(job.yaml)
            var broken = DiagnosticList()
            guard let document = DocumentReader.read(text, &broken), document.edition == 3,
                !document.allDiagnostics.all.contains(where: { Self.unread.contains($0.name) })
            else { continue }
            let (diagnostics, isWhole) = resolve(document, job.hasSchema ? tables : nil)
            for range in diagnostics.all.map(\.range) {
                #expect(range.start >= 0 && range.end <= text.bytes.count, "\(file) \(job.id)")
            }
            let refused = job.refused
            let ours = RecordedLine.lines(diagnostics, of: text)
            let fatal = Set(ours.filter { $0.level == "fatal" }.map { job.number($0) })
            #expect(refused.isSubset(of: fatal), "\(file) \(job.id): \(ours)")
            var missing = job.lines.filter { isOfNames($0.message) && !refused.contains(job.number($0)) }
            count += missing.count
            var others: [RecordedLine] = []
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
            if job.isAccepted {
                #expect(isWhole, "\(file) \(job.id) has a query without a row")
            }
        }
        #expect(count >= least, "\(count) were compared")
    }
}
