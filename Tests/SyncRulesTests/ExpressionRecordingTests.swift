import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import PowerSyncYAML
import Testing

/// Values of expressions as the real service's evaluator gave them: `Tests/Fixtures/language/expressions.jsonl`.
struct ExpressionRecordingTests {
    /// One recorded configuration that has a query `SELECT id, … AS e FROM t`.
    private struct Job {
        let id: Int64
        let rows: [RowExpressions.Row]
        let results: [[JSON]]
        let value: Expression
        /// What stands behind WHERE; nil if nothing does.
        let condition: Expression?
        let run: ExpressionRun

        /// Nil if the recording says nothing of one value of a row.
        init?(_ json: JSON, worlds: [JSON]) throws {
            guard let id = json["id"]?.int64Value, let world = json["world"]?.int64Value,
                let results = json["result"]?["rows"]?["t"]?.arrayValue,
                let root = try json["yaml"]?.stringValue.flatMap({ try YAMLNode.parse($0) }),
                let sql = Self.query(root),
                case .select(let select, _)? = try SQLParser.parse(Array(sql.utf8)).first,
                select.items.count == 2, select.items[1].alias?.text == ExactText("e")
            else { return nil }
            let edition = root["config"]?["edition"]?.int ?? 1
            let expressions = RowExpressions(edition: edition)
            guard let value = expressions.expression(select.items[1].expression) else { return nil }
            var condition: Expression?
            if let written = select.condition {
                guard let made = expressions.expression(written) else { return nil }
                condition = edition > 2 ? Self.rowCondition(made) : made
            }
            var options = CompatibilityOptions(edition: edition)
            if root["config"]?["fixed_json_extract"]?.string == "true" { options.fixedJSONExtract = true }
            self.id = id
            self.results = results.map { $0.arrayValue ?? [] }
            self.value = value
            self.condition = condition
            rows = (worlds[Int(world)]["t"]?.arrayValue ?? []).map { row in
                var columns: [String: ScalarValue] = [:]
                for member in row.objectMembers ?? [] {
                    columns[member.name] = ExpressionRecordingTests.value(member.value)
                }
                return RowExpressions.Row(columns: columns)
            }
            run = ExpressionRun(options: options)
        }

        /// What a condition asks of a row: its parts without a column are asked of the request.
        private static func rowCondition(_ condition: Expression) -> Expression? {
            switch condition {
            case .and(let all):
                let parts = all.compactMap(rowCondition)
                return parts.isEmpty ? nil : .and(parts)
            // With a part of the request alone there is a bucket of all rows.
            case .or(let all): return all.contains(where: \.inputs.isEmpty) ? nil : condition
            default: return condition.inputs.isEmpty ? nil : condition
            }
        }

        /// The only query of a configuration.
        private static func query(_ root: YAMLNode) -> String? {
            let stream = root["streams"]?.pairs?.first?.value
            let definition = root["bucket_definitions"]?.pairs?.first?.value
            return stream?["query"]?.string ?? definition?["data"]?.elements?.first?.string
        }
    }

    /// A value as recordings spell it.
    private static func value(_ json: JSON) -> ScalarValue {
        if let digits = json["i"]?.stringValue, let integer = ScalarValue(digits: digits) { return integer }
        if let digits = json["b"]?.stringValue {
            let digits = Array(digits)
            let bytes = stride(from: 0, to: digits.count, by: 2).map { place in
                UInt8(String(digits[place...place + 1]), radix: 16) ?? 0
            }
            return .blob(bytes)
        }
        if let name = json["f"]?.stringValue {
            return .real(name == "NaN" ? .nan : name == "Infinity" ? .infinity : -.infinity)
        }
        if case .number(let spelling) = json, let real = Double(spelling) { return .real(real) }
        return json.stringValue.map { ScalarValue(text: $0) } ?? .null
    }

    private func jobs() throws -> [Job] {
        let recorded = try JSON.parse(Repository.fixture("language/worlds.json"))
        let worlds = recorded["expressions"]?.arrayValue ?? []
        let text = String(decoding: try Repository.fixture("language/expressions.jsonl"), as: UTF8.self)
        return try text.split(separator: "\n").compactMap { line in
            try Job(try JSON.parse(String(line)), worlds: worlds)
        }
    }

    /// What is made of a row: nothing, a value, or an error.
    private enum Result: Equatable {
        case outside
        case value(ScalarValue)
        case error
    }

    private func recorded(_ results: [JSON]) -> Result {
        guard let result = results.first else { return .outside }
        guard let data = result["data"] else { return .error }
        // A blob is not synced.
        return .value(data["e"].map(Self.value) ?? .blob([]))
    }

    private func computed(_ job: Job, _ row: RowExpressions.Row) -> Result {
        do throws(EvaluationError) {
            if let condition = job.condition, !(try job.run.holds(condition, in: row)) { return .outside }
            let value = try job.run.value(of: job.value, in: row)
            if case .blob = value { return .value(.blob([])) }
            return .value(value)
        } catch {
            return .error
        }
    }

    @Test func valuesAreAsRecorded() throws {
        var (values, errors, outside) = (0, 0, 0)
        for job in try jobs() {
            for (row, results) in zip(job.rows, job.results) {
                let recorded = recorded(results)
                #expect(computed(job, row) == recorded, "job \(job.id) of \(row.columns)")
                switch recorded {
                case .value: values += 1
                case .error: errors += 1
                case .outside: outside += 1
                }
            }
        }
        #expect(values > 3000 && errors > 200 && outside > 200, "\(values), \(errors), \(outside)")
    }
}
