import PowerSyncSyncRules
import PowerSyncWire

/// Runs a plan over a few rows and requests: whatever it says, both have an end.
struct PlanProperties {
    /// How many tables of a plan are made.
    private static let tables = 6
    /// How many places of a row are written.
    private static let places = 50

    private let plan: SyncPlan
    private let columns: [ExactText]

    private static let scalars: [ScalarValue] = [
        .null, .integer(0), .integer(.min), .integer(.max), .real(0.5), .real(.nan), .real(-.infinity),
        .real(1e300), .blob([]), .blob([0xFF, 1, 0]),
    ]

    private static let texts = [
        "", "u1", "0", "-3.5x", "[1, \"a\", null, [2], 1e400]", "{\"a\": {\"b\": \"é\"}, \"1\": []}", "[",
        "2023-03-06 13:47:00.5+02:00", "\u{1F600}e\u{301}\u{0}", "0101000000000000000000F03F",
        "d5b1b0a0-0000-4000-8000-000000000000",
    ]

    /// Values of all kinds, some of which mean something to most functions.
    private static let values =
        scalars + texts.map { ScalarValue(text: $0) }
        + [ScalarValue(digits: "-18446744073709551616") ?? .null]

    /// Takes a plan.
    init(_ plan: SyncPlan) {
        self.plan = plan
        var names: Set<ExactText> = [ExactText("id"), ExactText("_rest"), ExactText("10")]
        var expressions: [Expression] = []
        for processor in plan.sources.flatMap(\.processors) {
            expressions += processor.expansions + processor.filters + processor.keys
            for case .column(let expression, _) in processor.outputs { expressions.append(expression) }
        }
        for lookup in plan.lookups {
            expressions += lookup.expansions + lookup.filters
            expressions += lookup.keys + lookup.outputs
        }
        for expression in expressions.prefix(1_000) { Self.collect(expression, &names) }
        columns = names.sorted()
    }

    private static func collect(_ expression: Expression, _ names: inout Set<ExactText>) {
        if case .column(_, let name) = expression { names.insert(name) }
        for child in expression.children { collect(child, &names) }
    }

    /// Runs all of it.
    func check(_ tally: inout Tally) {
        let patterns = Set(plan.sources.flatMap { $0.processors.map(\.table) } + plan.lookups.map(\.table))
        for pattern in patterns.prefix(Self.tables) {
            let shape = TableShape(
                tag: Self.name(pattern.tag), schema: Self.name(pattern.schema), name: Self.name(pattern.name),
                columns: columns)
            let programs = RowProgramCompiler.compile(plan, shape)
            for first in 0..<3 { checkRow(first, programs, &tally) }
        }
        for stream in plan.streams { _ = stream.subscriptionParameters }
        for number in 0..<3 { checkRequest(number, &tally) }
    }

    private static func name(_ part: NamePart) -> ExactText {
        switch part {
        case .exact(let name): name
        case .prefix(let prefix): ExactText(prefix.text + "é")
        }
    }

    // MARK: - Rows

    private func checkRow(_ first: Int, _ programs: TablePrograms, _ tally: inout Tally) {
        var run = RowProgramRun()
        var base: [UInt8] = []
        let slots = columns.indices.map { column in
            Slot(scalar: Self.values[(first * 7 + column * 5) % Self.values.count], in: &base)
        }
        for program in programs.rows {
            var arena = base + program.code.texts
            do throws(EvaluationError) {
                try walk(program, slots, &arena, texts: base.count, &run, &tally)
            } catch {
                Self.check(error)
                tally.count("rows with an error")
            }
        }
        for lookup in programs.lookups {
            var arena = base + lookup.code.texts
            do throws(EvaluationError) {
                let entries = try run.entries(of: lookup, slots, in: &arena, texts: base.count)
                guard let entries else { fatalError("a row without a missing value waits") }
                for entry in entries {
                    let values = (entry.key + entry.outputs).map { $0.scalar(in: arena) }
                    guard values.count == lookup.keys.count + lookup.outputs.count else {
                        fatalError("a row is found by something else")
                    }
                }
                tally.count("keys of lookups", entries.count)
            } catch {
                Self.check(error)
            }
        }
    }

    private func walk(
        _ program: RowProgram, _ slots: [Slot], _ arena: inout [UInt8], texts: Int,
        _ run: inout RowProgramRun,
        _ tally: inout Tally
    ) throws(EvaluationError) {
        var count = 0
        var outcome = try run.start(program.code, slots, in: &arena, texts: texts)
        while outcome == .inside, count < Self.places {
            count += 1
            outcome = try run.output(program, slots, in: &arena, texts: texts)
            guard outcome == .inside else { fatalError("a row without a missing value waits") }
            var bytes: [UInt8] = []
            for key in program.keys { RowTextWriter.appendKey(run.key(key), in: arena, to: &bytes) }
            RowTextWriter.appendID(program, run, slots, in: arena, to: &bytes)
            RowTextWriter.appendData(program, run, slots, in: arena, to: &bytes)
            guard String(validating: bytes, as: UTF8.self) != nil else { fatalError("a row that is no text") }
            outcome = try run.next(program.code, slots, in: &arena, texts: texts)
        }
        guard outcome != .waiting else { fatalError("a row without a missing value waits") }
        tally.count("places of rows", count)
    }

    private static func check(_ error: EvaluationError) {
        guard !error.message.isEmpty || !error.summary.isEmpty else { fatalError("an error without a text") }
    }

    // MARK: - Requests

    // Made anew each time: the sanitizer takes an indirect enumeration that a global holds for a leak.
    private static var parameters: [JSON?] {
        [
            nil,
            .object([
                JSONMember("a", .array([.integer(1), .string("u1"), .null])),
                JSONMember("b", .string("[1, 2]")),
                JSONMember("team", .number("1.50")),
                JSONMember("docs", .object([JSONMember("a", .bool(true))])),
            ]),
            .object([JSONMember("a", .string("{")), JSONMember("b", .integer(Int64.max))]),
        ]
    }

    private func checkRequest(_ number: Int, _ tally: inout Tally) {
        let subscriptions = plan.streams.prefix(20).map { stream in
            StreamSubscription(stream: stream.name.text, parameters: Self.parameters[number])
        }
        let request = SyncStreamRequest(
            parameters: Self.parameters[(number + 1) % 3],
            streams: StreamSubscriptions(subscriptions: subscriptions))
        var claims = [JSONMember("sub", .string("u1"))]
        claims += Self.parameters[(number + 2) % 3]?.objectMembers ?? []
        var evaluation = RequestEvaluation(
            plan, request, token: .object(claims), limits: RequestLimits(buckets: 100, results: 100))
        do throws(RequestError) {
            // Once from nothing, and once more for what it has used.
            for round in 0..<2 {
                evaluation.begin(changed: round == 0 ? nil : evaluation.used)
                tally.count("buckets of requests", try resolve(&evaluation).buckets.count)
            }
        } catch {
            guard !error.message.isEmpty else { fatalError("an error without a message") }
            tally.count("requests refused")
        }
    }

    private func resolve(_ evaluation: inout RequestEvaluation) throws(RequestError) -> Resolution {
        // Each time all queriers go one stage on.
        let most = 2 + (plan.streams.flatMap(\.queriers).map(\.stages.count).max() ?? 0)
        for _ in 0..<most {
            switch try evaluation.next() {
            case .done(let resolution):
                let names = Set(resolution.buckets.map(\.name))
                guard names.count == resolution.buckets.count,
                    resolution.buckets.allSatisfy({ plan.sources.indices.contains($0.source) })
                else { fatalError("a bucket that is not there, or twice") }
                return resolution
            case .rows(let reads):
                var rows: [LookupRead: [[ScalarValue]]] = [:]
                for (number, read) in reads.enumerated() {
                    rows[read] = (0..<number % 3).map { row in
                        plan.lookups[read.lookup].outputs.indices.map { output in
                            Self.values[(number + row * 3 + output) % Self.values.count]
                        }
                    }
                }
                try evaluation.take(rows)
            }
        }
        fatalError("a request without an end")
    }
}
