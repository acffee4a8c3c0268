import PowerSyncBackend
import PowerSyncWire
import Testing

struct UploadPlannerTests {
    private let subject = "0f8fad5b-d9cb-469f-a165-70867728950e"

    private func planner(_ yaml: String = "tables: { lists: }\n", subject: String? = nil) throws
        -> UploadPlanner
    {
        UploadPlanner(tables: try Build.tables(yaml), subject: subject ?? self.subject)
    }

    private func code(_ operation: UploadOperation, _ yaml: String = "tables: { lists: }\n") throws -> String?
    {
        do {
            _ = try planner(yaml).plan([operation])
            return nil
        } catch let refusal as Refusal {
            return refusal.code
        }
    }

    @Test(arguments: [
        "todos; drop table x--", "lists\"", "public\".\"lists", "pg_catalog.pg_class", "auth.users", "Lists",
        "",
        "psb.upload_ledger", String(repeating: "x", count: 70),
    ])
    func aTableThatIsNotInTheMapIsRefused(table: String) throws {
        #expect(try code(Build.operation(.put, table, "a", #"{"name":"x"}"#)) == "UNKNOWN_TABLE")
    }

    @Test(arguments: [
        #"name\" = 'x', \"owner_id"#, #"a\u0000"#, "ctid", "xmin", "tableoid", "NAME",
        String(repeating: "c", count: 70),
    ])
    func aColumnThatIsNotInTheCatalogIsRefused(column: String) throws {
        #expect(try code(Build.operation(.patch, "lists", "a", "{\"\(column)\":1}")) == "UNKNOWN_COLUMN")
    }

    /// Each value alone is printed by Postgres, both together in one row are not sent.
    @Test func aRowThatPostgresPrintsAtLengthIsRefused() throws {
        let numbers = "[" + Array(repeating: "1e399", count: 20_000).joined(separator: ",") + "]"
        let name = JSON.quoted(String(repeating: "x", count: 8_000_000))
        for (data, expected) in [
            ("{\"body\":\(numbers)}", nil), ("{\"name\":\(name)}", nil),
            ("{\"body\":\(numbers),\"name\":\(name)}", "TOO_LARGE"),
        ] as [(String, String?)] {
            #expect(try code(Build.operation(.put, "lists", "a", data)) == expected)
        }
    }

    @Test func theRefusalNamesOperationTableAndRow() throws {
        let operations = [
            try Build.operation(.put, "lists", "a", #"{"name":"x"}"#),
            try Build.operation(.put, "lists", "b", #"{"n":"many"}"#),
        ]
        let refusal = try #require(thrown { try planner().plan(operations) } as? Refusal)
        #expect(refusal.index == 1)
        #expect(refusal.table == "lists")
        #expect(refusal.rowID == "b")
        #expect(refusal.column == "n")
        #expect(refusal.code == "INVALID_DATA")
    }

    @Test func theMapLimitsWhatMayBeDone() throws {
        let yaml =
            "tables: { lists: { ops: [PUT], columns: { secret: { write: never }, made: { write: server } } } }\n"
        #expect(try code(Build.operation(.delete, "lists", "a"), yaml) == "OPERATION_NOT_ALLOWED")
        #expect(try code(Build.operation(.put, "lists", "a", #"{"secret":"x"}"#), yaml) == "READ_ONLY_COLUMN")
        #expect(try code(Build.operation(.put, "lists", "a", #"{"sum":1}"#), yaml) == "READ_ONLY_COLUMN")
        let plan = try planner(yaml).plan([Build.operation(.put, "lists", "a", #"{"made":"x","name":"y"}"#)])[
            0]
        #expect(plan.columns.map(\.name) == ["name"])
        #expect(plan.isAdjusted)
    }

    @Test func theIDWithinTheDataMustBeThatOfTheRow() throws {
        #expect(try code(Build.operation(.put, "lists", "a", #"{"id":"b"}"#)) == "ID_MISMATCH")
        let plan = try planner().plan([Build.operation(.put, "lists", "a", #"{"id":"a","name":"x"}"#)])[0]
        #expect(plan.columns.map(\.name) == ["name"])
        #expect(try code(Build.operation(.put, "lists", "", "{}")) == "INVALID_DATA")
        #expect(
            try code(Build.operation(.put, "lists", String(repeating: "x", count: 256), "{}"))
                == "INVALID_DATA")
    }

    @Test func theOwnerIsTheSubjectWhateverTheClientClaims() throws {
        let yaml = "tables: { lists: { owner: owner_id } }\n"
        let other = "11111111-1111-4111-8111-111111111111"
        let put = try planner(yaml).plan([Build.operation(.put, "lists", "a", "{\"owner_id\":\"\(other)\"}")]
        )[0]
        #expect(put.columns.map(\.name) == ["owner_id"])
        #expect(put.values == [subject])
        #expect(put.isAdjusted)
        let own = try planner(yaml).plan([
            Build.operation(.put, "lists", "a", "{\"owner_id\":\"\(subject)\"}")
        ])[0]
        #expect(!own.isAdjusted)
        let patch = try planner(yaml).plan([
            Build.operation(.patch, "lists", "a", "{\"owner_id\":\"\(other)\"}")
        ])[0]
        #expect(patch.isEmpty)
        #expect(patch.isAdjusted)
    }

    @Test func aSubjectThatCannotOwnIsUnauthorized() throws {
        let planner = try planner("tables: { lists: { owner: owner_id } }\n", subject: "somebody")
        let refusal = thrown { try planner.plan([Build.operation(.put, "lists", "a", "{}")]) } as? Refusal
        #expect(refusal?.code == "UNAUTHORIZED")
    }

    @Test func theLastOfTwoEqualNamesCounts() throws {
        let plan = try planner().plan([Build.operation(.put, "lists", "a", #"{"name":"x","name":"y"}"#)])[0]
        #expect(plan.values == ["y"])
    }

    // MARK: Runs

    @Test func neighboursOfOneShapeAreOneRun() throws {
        let operations = [
            try Build.operation(.put, "lists", "a", #"{"name":"1"}"#),
            try Build.operation(.put, "lists", "b", #"{"name":"2"}"#),
            try Build.operation(.put, "lists", "c", #"{"name":"3","n":1}"#),
            try Build.operation(.patch, "lists", "d", "{}"),
            try Build.operation(.put, "lists", "e", #"{"n":1,"name":"3"}"#),
            try Build.operation(.put, "lists", "c", #"{"n":2,"name":"3"}"#),
            try Build.operation(.delete, "lists", "a"),
        ]
        let plans = try planner().plan(operations)
        #expect(UploadRun.runs(of: plans).map { $0.operations.map(\.index) } == [[0, 1], [2, 4], [5], [6]])
        #expect(
            UploadRun.runs(of: plans, isRowWise: true).map { $0.operations.map(\.index) } == [
                [0], [1], [2], [4], [5], [6],
            ])
    }

    @Test func twoSpellingsOfOneUUIDAreOneID() throws {
        let upper = "0F8FAD5B-D9CB-469F-A165-70867728950E"
        let plans = try planner("tables: { things: { table: app.things, id: thing_id } }\n").plan([
            Build.operation(.put, "things", upper, #"{"name":"1"}"#),
            Build.operation(.put, "things", upper.lowercased(), #"{"name":"2"}"#),
        ])
        #expect(UploadRun.runs(of: plans).count == 2)
    }

    // MARK: SQL

    private func sql(_ operations: [UploadOperation], _ yaml: String) throws -> UploadSQL {
        let planner = try planner(yaml)
        let runs = UploadRun.runs(of: try planner.plan(operations))
        try #require(runs.count == 1)
        return UploadSQL(runs[0], owner: try planner.owner(of: runs[0].operations[0].table))
    }

    @Test func oneRowIsUpserted() throws {
        let sql = try sql(
            [Build.operation(.put, "lists", "a", #"{"name":"x","at":"2025-01-01"}"#)], "tables: { lists: }\n")
        #expect(
            sql.text == """
                INSERT INTO "public"."lists" AS t ("id", "at", "name") VALUES ($1::text, \
                ($2::timestamptz AT TIME ZONE 'UTC'), $3::text) ON CONFLICT ("id") DO UPDATE SET \
                "at" = excluded."at", "name" = excluded."name" RETURNING t."id"::text
                """)
        #expect(sql.parameters == ["a", "2025-01-01", "x"])
    }

    @Test func severalRowsAreOneStatement() throws {
        let operations = [
            try Build.operation(.put, "lists", "a", #"{"n":1}"#),
            try Build.operation(.put, "lists", "b", #"{"n":null}"#),
        ]
        let sql = try sql(operations, "tables: { lists: }\n")
        #expect(
            sql.text == """
                INSERT INTO "public"."lists" AS t ("id", "n") SELECT u.k::text, u.c0::integer FROM \
                unnest($1::text[], $2::text[]) WITH ORDINALITY AS u(k, c0, o) ORDER BY u.o ON CONFLICT ("id") DO UPDATE \
                SET "n" = excluded."n" RETURNING t."id"::text
                """)
        #expect(sql.parameters == [#"{"a","b"}"#, #"{"1",NULL}"#])
    }

    @Test func ownersAreComparedInEveryStatement() throws {
        let yaml = "tables: { lists: { owner: owner_id } }\n"
        let put = try sql([Build.operation(.put, "lists", "a", #"{"n":1}"#)], yaml)
        #expect(put.text.contains(#"WHERE CASE WHEN t."owner_id" = excluded."owner_id" THEN true"#))
        for operation in [
            try Build.operation(.patch, "lists", "a", #"{"n":1}"#),
            try Build.operation(.delete, "lists", "a"),
        ] {
            let sql = try sql([operation], yaml)
            #expect(
                sql.text.contains(#"WHEN t."owner_id" = $\#(sql.parameters.count)::uuid THEN true ELSE psb."#)
            )
            #expect(sql.parameters.last == subject)
        }
        let many = try sql((0..<3).map { try Build.operation(.delete, "lists", "a\($0)") }, yaml)
        #expect(many.text.contains("USING unnest($1::text[])"))
        #expect(many.parameters == [#"{"a0","a1","a2"}"#, subject])
    }

    @Test func noValueAndNoSentNameIsInTheText() throws {
        let sql = try sql(
            [Build.operation(.patch, "lists", "'; DROP", #"{"name":"'; DROP"}"#)], "tables: { lists: }\n")
        #expect(!sql.text.contains("DROP"))
    }

    // MARK: States

    @Test func statesFollowFromWhatStatementsReturned() throws {
        let operations = [
            try Build.operation(.put, "lists", "a", #"{"n":1}"#, opID: 5),
            try Build.operation(.put, "lists", "b", #"{"n":2}"#),
            try Build.operation(.patch, "lists", "c", #"{"n":2}"#),
            try Build.operation(.patch, "lists", "d", #"{"n":3}"#),
            try Build.operation(.delete, "lists", "e"), try Build.operation(.patch, "lists", "f", "{}"),
        ]
        let plans = try planner().plan(operations)
        let states = UploadStates.states(
            of: operations, plans: plans, runs: UploadRun.runs(of: plans), touched: [["b"], ["2"], []])
        #expect(states.map(\.status) == ["noop", "applied", "noop", "applied", "noop", "noop"])
        #expect(
            states.map(\.code) == [
                "SUPPRESSED_BY_TRIGGER", nil, "ROW_MISSING", nil, "ROW_MISSING", "NO_CHANGES",
            ])
        #expect(states[0].opID == 5)
    }
}
