import PowerSyncMockService
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// `ExpressionRun` beside the evaluator that serves until the whole language does.
@Suite(.namesSeed)
struct ExpressionRunComparisonTests {
    private typealias Old = PowerSyncMockService.Expression
    private typealias New = PowerSyncSyncRules.Expression

    /// A row as inputs.
    private struct Row: ExpressionInputs {
        let row: SourceRow

        func column(_ input: Input, _ name: ExactText) -> ScalarValue { ScalarValue(row[name.text]) }
        func element(_ input: Input, _ part: ElementPart) -> ScalarValue { .null }
        func parameter(_ parameter: PowerSyncSyncRules.RequestParameter) -> ScalarValue { .null }
        func request(_ source: PowerSyncSyncRules.RequestParameter.Source) -> ScalarValue { .null }
        func table(_ fact: TableFact, _ input: Input) -> ScalarValue { .null }
    }

    private func converted(_ old: Old) -> New {
        switch old {
        case .literal(let value): .literal(ScalarValue(value))
        case .column(let name): .column(.row(0), name)
        case .parameter: .literal(.null)
        case .comparison(let comparison, let left, let right):
            .comparison(comparison, converted(left), converted(right))
        case .and(let left, let right): .and([converted(left), converted(right)])
        case .or(let left, let right): .or([converted(left), converted(right)])
        case .not(let inner): .not(converted(inner))
        case .isNull(let inner): .isNull(converted(inner))
        }
    }

    /// All expressions over rows that a configuration has.
    private func expressions(_ config: CompiledSyncConfig) -> [Old] {
        let processors = config.sources.flatMap(\.processors)
        let outputs = processors.flatMap(\.outputs).compactMap { output -> Old? in
            if case .column(let expression, _) = output { expression } else { nil }
        }
        return outputs + processors.flatMap(\.filters) + processors.flatMap(\.partitionKeys)
    }

    /// Whether an expression has an operand that the old evaluator may pass over.
    private func hasPassedOver(_ expression: New) -> Bool {
        switch expression {
        case .and, .or: true
        default: expression.children.contains(where: hasPassedOver)
        }
    }

    /// Compares; a double that is no number equals itself here.
    private func isSame(_ left: ScalarValue, _ right: ScalarValue) -> Bool {
        if case .real(let left) = left, case .real(let right) = right, left.isNaN { return right.isNaN }
        return left == right
    }

    @Test func randomExpressionsHaveTheirFormerValues() async throws {
        let run = ExpressionRun(options: CompatibilityOptions(edition: 3))
        var (values, errors) = (0, 0)
        try await forEachSeed(1000) { random in
            var queries = RandomQueries(random)
            let list = (0..<5).map { _ in "      - \(JSON.quoted(queries.query()))\n" }.joined()
            let config = try SyncConfigReader.compile(
                "config: {edition: 3}\nstreams:\n  s:\n    queries:\n\(list)")
            let shape = RowShape(columns: RandomQueries.columns)
            for _ in 0..<3 {
                let row = SourceRow(shape: shape, values: queries.row())
                for old in expressions(config) {
                    let new = converted(old)
                    let former = Result { try ExpressionEvaluator.row(row).value(of: old) }
                    let found = Result { try run.value(of: new, in: Row(row: row)) }
                    switch (found, former) {
                    case (.success(let found), .success(let former)):
                        values += 1
                        #expect(isSame(found, ScalarValue(former)), "\(new) of \(row.values)")
                    case (.failure, .failure): errors += 1
                    case (.failure, .success):
                        // The second part of an AND is computed now.
                        #expect(hasPassedOver(new), "\(new) of \(row.values) is an error")
                    case (.success, .failure): Issue.record("\(new) of \(row.values) has a value")
                    }
                }
            }
        }
        // Seeds of the environment are few.
        guard TestOptions.number("POWERSYNC_SEED", standard: -1) < 0 else { return }
        #expect(values > 10_000 && errors > 10, "\(values) values and \(errors) errors say nothing")
    }
}
