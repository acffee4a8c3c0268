import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// Streams of edition 2: what is told of them as recorded in `Tests/Fixtures/language`, and what no vector says.
struct AlphaStreamTests {
    /// The messages of a query that is the only one of a configuration.
    private func messages(_ query: String, _ settings: String...) -> [String] {
        let config = SyncConfig.compile(AlphaRig.yaml(query, settings))
        return config.diagnostics.all.map(\.message).filter { $0 != DiagnosticName.alphaStreams.text }
    }

    /// Lines as they are compared: what an expression is called that is not supported is the real parser's word, and
    /// what stands beside its errors is not compared.
    private func compared(_ lines: [RecordedLine], of job: RecordedJob) -> [RecordedLine] {
        let suffix = " not supported here"
        let refused = job.refused
        return lines.filter { !refused.contains(job.number($0)) }.map { line in
            let message = line.message.hasSuffix(suffix) ? suffix : line.message
            return RecordedLine(level: line.level, message: message, start: line.start, end: line.end)
        }
    }

    @Test(arguments: [("mistakes", 200), ("configurations", 330), ("expressions", 300)])
    func messagesAreThoseRecorded(_ file: String, _ least: Int) throws {
        let tables = try RecordedJob.schema(file)
        var count = 0
        for job in try RecordedJob.all(file) {
            var broken = DiagnosticList()
            guard let document = DocumentReader.read(SourceText(job.yaml), &broken), document.edition == 2
            else { continue }
            let config = SyncConfig.compile(job.yaml, schema: job.hasSchema ? tables : nil)
            let theirs = compared(job.lines, of: job)
            count += theirs.count
            // In the same order, too: the admin routes join them.
            let ours = compared(RecordedLine.lines(config.diagnostics, of: config.text), of: job)
            #expect(ours == theirs, "\(file) \(job.id)")
            #expect((config.plan != nil) == job.isAccepted, "\(file) \(job.id)")
        }
        #expect(count >= least, "\(count) were compared")
    }

    @Test func thePriorityIsThree() throws {
        let rig = try AlphaRig("SELECT * FROM docs", "priority: 0")
        #expect(rig.plan.streams.map(\.priority) == [3])
    }

    @Test func nullIsAKeyOfASubSelectAndOfNoMatch() throws {
        let ofTeams = "SELECT id FROM teams WHERE lead = auth.user_id()"
        let lookup = try AlphaRig("SELECT * FROM docs WHERE team IN (\(ofTeams))")
        #expect(try lookup.places("docs", [:]) == ["stream|0[null]"])
        let match = try AlphaRig("SELECT * FROM docs WHERE team = auth.parameter('team')")
        #expect(try match.places("docs", [:]).isEmpty)
        #expect(try match.buckets() == ["stream|0[null]"])
        let both = try AlphaRig(
            "SELECT * FROM docs WHERE team IN (\(ofTeams)) AND owner = auth.parameter('owner')")
        #expect(try both.places("docs", ["owner": .integer(1)]) == ["stream|0[null,1]"])
        #expect(try both.places("docs", ["team": .integer(1)]).isEmpty)
    }

    /// Whoever has no team gets no rows that are of no team, though these have a bucket of their own.
    @Test(arguments: ["team", "team::text", "upper(team)"])
    func aNullThatASubSelectFindsNamesNoBucket(_ column: String) throws {
        let rig = try AlphaRig(
            "SELECT id FROM docs WHERE team IN (SELECT \(column) FROM users WHERE id = auth.user_id())")
        func user(_ team: ScalarValue) -> AlphaRig.Row {
            (table: "users", columns: ["id": ScalarValue(text: "u"), "team": team])
        }
        #expect(try rig.places("docs", ["team": .null]) == ["stream|0[null]"])
        #expect(try rig.buckets([user(.null)]).isEmpty)
        #expect(try rig.buckets([user(.null), user(ScalarValue(text: "T"))]) == [#"stream|0["T"]"#])
    }

    @Test func aRowWhoseArrayIsNoneHasAnError() throws {
        let rig = try AlphaRig("SELECT * FROM docs WHERE auth.user_id() IN readers")
        #expect(
            try rig.places("docs", ["readers": ScalarValue(text: #"["u","v"]"#)])
                == [#"stream|0["u"]"#, #"stream|0["v"]"#])
        #expect(try rig.places("docs", [:]).isEmpty)
        #expect(throws: EvaluationError.self) {
            try rig.places("docs", ["readers": ScalarValue(text: #"{"a":"u"}"#)])
        }
    }

    /// NULL has no bucket and no error, as recorded; of other JSON that is no array nothing is.
    @Test func anArrayOfTheRequestThatIsNoJSONIsAnErrorOfItsSubscription() throws {
        let rig = try AlphaRig("SELECT * FROM docs WHERE team IN subscription.parameter('ids')")
        let ids: [JSON] = [
            .string("invalid json"), .integer(7), .string(#"["a"]"#), .null, .string(#"{"a":"b"}"#),
            .string(#""b""#),
        ]
        var request = try RequestRig(
            rig.plan,
            subscriptions: ids.map {
                StreamSubscription(stream: "stream", parameters: .object([JSONMember("ids", $0)]))
            })
        let resolution = try request.resolve()
        #expect(resolution.buckets.map(\.name.text) == [#"stream|0["a"]"#])
        #expect(resolution.buckets.map(\.reasons) == [[.subscription(2)]])
        #expect(resolution.failures.map(\.reason) == [.subscription(0), .subscription(1)])
        let message = "Error evaluating bucket ids: Expected JSON string"
        #expect(resolution.failures.map(\.message) == [message, message])
    }

    @Test func aSubSelectMayAskForElementsOfItsRows() throws {
        let rig = try AlphaRig(
            "SELECT * FROM items WHERE doc IN (SELECT id FROM docs WHERE auth.user_id() IN readers "
                + "AND state = 'open' AND connection.parameter('x') IS NULL)")
        func doc(_ id: String, _ readers: String, _ state: String) -> AlphaRig.Row {
            (
                table: "docs",
                columns: [
                    "id": ScalarValue(text: id), "readers": ScalarValue(text: readers),
                    "state": ScalarValue(text: state),
                ]
            )
        }
        let rows = [
            doc("d1", #"["v","u"]"#, "open"), doc("d2", #"["u"]"#, "done"), doc("d3", "[]", "open"),
        ]
        #expect(try rig.buckets(rows) == [#"stream|0["d1"]"#])
        #expect(try rig.buckets(token: #"{"sub":"v"}"#, rows) == [#"stream|0["d1"]"#])
    }

    @Test(arguments: [
        ("NOT (team = auth.user_id())", "Negations are not allowed here"),
        ("team NOT IN auth.parameter('list')", "Negations are not allowed here"),
        ("team != auth.user_id()", "Cannot use table values and parameters in the same clauses"),
        (
            "team IN (SELECT id FROM teams WHERE org = 'o')",
            "Unsupported subquery without parameter, must depend on request parameters"
        ),
        (
            "team IN (SELECT id, org FROM teams WHERE org = auth.user_id())",
            "This subquery must return exactly one column"
        ),
        (
            "'t' IN (SELECT id FROM teams WHERE org = auth.user_id())",
            "For IN subqueries, the left operand must either depend on the row to sync or stream parameters."
        ),
        (
            "(team = auth.user_id()) IN (SELECT id FROM teams WHERE org = auth.user_id())",
            "Parameter match clauses cannot be used here"
        ),
        ("length(team = auth.user_id()) = 1", "Parameter match clauses cannot be used here"),
        ("token_parameters.user_id = team", "Undefined reference: token_parameters.user_id"),
        ("request.user_id() = team", "Function 'request.user_id' is not defined"),
        ("connection.user_id() = team", "Function 'connection.user_id' is not defined"),
    ])
    func whatAConditionMayNotBeIsTold(_ condition: String, _ message: String) {
        #expect(messages("SELECT * FROM docs WHERE \(condition)") == [message])
    }

    @Test func aDefaultStreamWithParametersOfTheSubscriptionIsToldOf() {
        let query = "SELECT * FROM docs WHERE team = subscription.parameter('team')"
        #expect(messages(query).isEmpty)
        #expect(messages(query, "auto_subscribe: true") == [DiagnosticName.defaultUsesSubscription.text])
    }

    @Test func tooManyTermsAreRefusedBeforeTheyAreMade() {
        let pair = "(team = auth.user_id() OR owner = auth.user_id())"
        func query(_ count: Int) -> String {
            "SELECT * FROM docs WHERE " + Array(repeating: pair, count: count).joined(separator: " AND ")
        }
        #expect(messages(query(6)).isEmpty)
        #expect(messages(query(40)) == ["This is larger than the limit of 100 alternatives."])
    }
}
