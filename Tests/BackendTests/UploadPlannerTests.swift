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

    /// Plans a transaction's operations as an attempt does, one after the other.
    private func plans(_ operations: [UploadOperation], _ planner: UploadPlanner) throws -> [PlannedOperation]
    {
        try operations.enumerated().map { try planner.plan($1, at: $0) }
    }

    private func code(_ operation: UploadOperation, _ yaml: String = "tables: { lists: }\n") throws -> String?
    {
        do {
            _ = try planner(yaml).plan(operation, at: 0)
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

    /// To Postgres, and to clients, they are.
    @Test func namesAndIDsThatAreOnlySpelledAlikeAreTwo() throws {
        let (one, two) = ("\u{e9}", "e\u{301}")
        var catalog = Build.catalog
        for (name, columns) in [(one, [one, two]), (two, [two])] {
            var table = Catalog.Table()
            table.columns = (["id"] + columns).map { Catalog.Column(name: $0, type: "text", typeOID: 25) }
            table.uniqueColumns = [ExactText("id")]
            catalog.tables[Catalog.Name(schema: "public", table: name)] = table
        }
        catalog.published = [one, two].map { Catalog.Name(schema: "public", table: $0) }
        let planner = UploadPlanner(tables: try UploadTables(openSchemaOf: catalog), subject: subject)
        func plan(_ table: String, _ data: String) throws -> PlannedOperation {
            try planner.plan(Build.operation(.patch, table, "a", data), at: 0)
        }
        let both = try plan(one, "{\"\(one)\":\"1\",\"\(two)\":\"2\"}")
        #expect(both.columns.map { Array($0.name.utf8) } == [two, one].map { Array($0.utf8) })
        #expect(both.values == ["2", "1"])
        #expect(throws: Refusal.self) { try plan(two, "{\"\(one)\":\"1\"}") }
        let runs = UploadRun.runs(of: try [one, two].map { try plan($0, "{\"\(two)\":\"3\"}") })
        #expect(runs.count == 2, "what goes into two tables is two statements")
        #expect(
            try code(Build.operation(.put, "lists", one, "{\"id\":\"\(two)\"}")) == "ID_MISMATCH")
    }

    /// Each value alone is printed by Postgres, both together in one row are not sent.
    @Test func aRowThatPostgresPrintsAtLengthIsRefused() throws {
        let numbers = "[" + Array(repeating: "1e399", count: 20_000).joined(separator: ",") + "]"
        let name = "\"" + String(repeating: "x", count: 8_000_000) + "\""
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
        let refusal = try #require(thrown { try plans(operations, planner()) } as? Refusal)
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
        let plan = try planner(yaml).plan(
            Build.operation(.put, "lists", "a", #"{"made":"x","name":"y"}"#), at: 0)
        #expect(plan.columns.map(\.name) == ["name"])
        #expect(plan.isAdjusted)
    }

    @Test func whatTheServerSetsIsSetWithEveryChange() throws {
        let yaml = "tables: { lists: { columns: { at: { set: now }, owner_id: { set: subject } } } }\n"
        func plan(_ kind: UploadOperationKind, _ data: String?) throws -> PlannedOperation {
            try planner(yaml).plan(Build.operation(kind, "lists", "a", data), at: 0)
        }
        for kind in [UploadOperationKind.put, .patch] {
            let own = try plan(kind, #"{"name":"x"}"#)
            #expect(own.columns.map(\.name) == ["name", "at", "owner_id"])
            #expect(own.values == ["x", "now", subject])
            #expect(!own.isAdjusted)
            let forged = try plan(kind, #"{"name":"x","at":"2020-01-01","owner_id":"nobody"}"#)
            #expect(forged.values == own.values)
            #expect(forged.isAdjusted)
        }
        #expect(try plan(.put, "{}").values == ["now", subject])
        #expect(try plan(.patch, "{}").isEmpty)
        #expect(try plan(.patch, #"{"at":"2020-01-01"}"#).isEmpty)
        #expect(try plan(.delete, nil).columns.isEmpty)
    }

    @Test func whatTheServerSetsMayBeRefusedFromClients() throws {
        let yaml = "tables: { lists: { columns: { at: { write: never, set: now } } } }\n"
        let forged = try Build.operation(.put, "lists", "a", #"{"at":"2020-01-01"}"#)
        #expect(try code(forged, yaml) == "READ_ONLY_COLUMN")
        let own = try planner(yaml).plan(Build.operation(.put, "lists", "a", "{}"), at: 0)
        #expect(own.values == ["now"])
    }

    @Test func aSubjectThatIsNoValueOfTheColumnIsRefused() throws {
        let planner = try planner(
            "tables: { lists: { columns: { owner_id: { set: subject } } } }\n", subject: "alice")
        let refusal = try #require(
            thrown { try planner.plan(Build.operation(.put, "lists", "a", "{}"), at: 0) } as? Refusal)
        #expect(refusal.code == "UNAUTHORIZED")
        #expect(refusal.column == "owner_id")
    }

    @Test func theIDWithinTheDataMustBeThatOfTheRow() throws {
        #expect(try code(Build.operation(.put, "lists", "a", #"{"id":"b"}"#)) == "ID_MISMATCH")
        let plan = try planner().plan(
            Build.operation(.put, "lists", "a", #"{"id":"a","name":"x"}"#), at: 0)
        #expect(plan.columns.map(\.name) == ["name"])
        #expect(try code(Build.operation(.put, "lists", "", "{}")) == "INVALID_DATA")
        #expect(
            try code(Build.operation(.put, "lists", String(repeating: "x", count: 256), "{}"))
                == "INVALID_DATA")
    }

    @Test func theOwnerIsTheSubjectWhateverTheClientClaims() throws {
        let yaml = "tables: { lists: { owner: owner_id } }\n"
        let other = "11111111-1111-4111-8111-111111111111"
        let put = try planner(yaml).plan(
            Build.operation(.put, "lists", "a", "{\"owner_id\":\"\(other)\"}"), at: 0)
        #expect(put.columns.map(\.name) == ["owner_id"])
        #expect(put.values == [subject])
        #expect(put.isAdjusted)
        let own = try planner(yaml).plan(
            Build.operation(.put, "lists", "a", "{\"owner_id\":\"\(subject)\"}"), at: 0)
        #expect(!own.isAdjusted)
        let patch = try planner(yaml).plan(
            Build.operation(.patch, "lists", "a", "{\"owner_id\":\"\(other)\"}"), at: 0)
        #expect(patch.isEmpty)
        #expect(patch.isAdjusted)
    }

    @Test func theOwnerMayBeTheID() throws {
        let yaml = "tables: { things: { table: app.things, id: thing_id, owner: thing_id } }\n"
        let data = #"{"title":"x","rank":1}"#
        let own = try planner(yaml).plan(
            Build.operation(.put, "things", subject.uppercased(), data), at: 0)
        #expect(own.columns.map(\.name) == ["rank", "title"])
        let empty = try sql([Build.operation(.put, "things", subject, "{}")], yaml)
        #expect(empty.parameters == [subject, subject], "the row that lends what is left out is theirs")
        let put = try sql([Build.operation(.put, "things", subject, data)], yaml)
        #expect(
            put.text.contains(#"CASE WHEN t."thing_id"::text COLLATE pg_catalog."C" = $4::text THEN true"#))
        #expect(put.parameters == [subject, "1", "x", subject])
        let other = "11111111-1111-4111-8111-111111111111"
        for kind in [UploadOperationKind.put, .patch, .delete] {
            #expect(try code(Build.operation(kind, "things", other, data), yaml) == "UNAUTHORIZED")
        }
    }

    @Test func aSubjectThatCannotOwnIsUnauthorized() throws {
        let planner = try planner("tables: { lists: { owner: owner_id } }\n", subject: "somebody")
        let refusal =
            thrown { try planner.plan(Build.operation(.put, "lists", "a", "{}"), at: 0) } as? Refusal
        #expect(refusal?.code == "UNAUTHORIZED")
    }

    /// Rows of 7 would else belong to whoever may choose a name that reads as 7, too.
    @Test(arguments: ["7.0", "07", "7e0", "+7", " 7", "7 ", "0.7e1", "-0", "７", ""])
    func aSubjectOwnsOnlyWhatIsPrintedAsItIsSpelled(subject: String) throws {
        let planner = try planner("tables: { lists: { owner: n } }\n", subject: subject)
        let table = try #require(planner.tables.tables[ExactText("lists")])
        let compared = thrown { try planner.owner(of: table) } as? Refusal
        #expect(compared?.code == "UNAUTHORIZED")
        let put = thrown { try planner.plan(Build.operation(.put, "lists", "a", "{}"), at: 0) } as? Refusal
        #expect(put?.code == "UNAUTHORIZED")
        let seven = try self.planner("tables: { lists: { owner: n } }\n", subject: "7")
        #expect(try seven.plan(Build.operation(.put, "lists", "a", "{}"), at: 0).values == ["7"])
    }

    @Test(arguments: [
        ("0f8fad5b-d9cb-469f-a165-70867728950e", ColumnKind.uuid, true),
        ("0F8FAD5B-D9CB-469F-A165-70867728950E", .uuid, false),
        ("{0f8fad5bd9cb469fa16570867728950e}", .uuid, false),
        ("alice", .text(limit: nil), true), (" alice", .text(limit: nil), true),
        ("alice", .text(limit: 5), true),
        ("alice ", .text(limit: 5), false), ("alice", .paddedText(length: 9), true),
        ("alice ", .paddedText(length: 9), false),
        ("-9223372036854775808", .integer(bits: 64), true), ("7", .numeric(scale: nil), true),
        ("7.0", .numeric(scale: nil), false), ("7.00", .numeric(scale: 2), true),
        ("7", .numeric(scale: 2), false),
        ("0.05", .numeric(scale: nil), true), (".05", .numeric(scale: nil), false),
        ("-0.05", .numeric(scale: 2), true),
        ("7.005", .numeric(scale: 2), false), ("0", .numeric(scale: 0), true),
        ("1200", .numeric(scale: -2), true),
        ("1e2", .numeric(scale: nil), false), ("1.5", .real, false), ("2025-01-01", .date, false),
        ("true", .boolean, false), ("10.0.0.1", .address, false), ("good", .label, true),
        ("Bob", .textForm, true),
        ("e\u{301}", .text(limit: nil), true),
    ])
    func theSpellingOfAnOwnerIsThatOfPostgres(subject: String, kind: ColumnKind, owns: Bool) {
        #expect(ValueConversion.ownerText(subject, as: kind) == (owns ? subject : nil))
    }

    @Test func theLastOfTwoEqualNamesCounts() throws {
        let plan = try planner().plan(
            Build.operation(.put, "lists", "a", #"{"name":"x","name":"y"}"#), at: 0)
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
        let plans = try self.plans(operations, planner())
        #expect(UploadRun.runs(of: plans).map { $0.operations.map(\.index) } == [[0, 1], [2, 4], [5], [6]])
        #expect(
            UploadRun.runs(of: plans, alone: [0, 1]).map { $0.operations.map(\.index) } == [
                [0], [1], [2, 4], [5], [6],
            ])
    }

    /// Whether a parent is there is asked before the run that names it.
    @Test func aRunEndsWhereARowNamesOneOfIt() throws {
        let planner = try planner("tables: { lists: { owner: owner_id, parents: { made: lists } } }\n")
        func put(_ id: String, _ parent: String?) throws -> UploadOperation {
            let value = parent.map { "\"\($0)\"" } ?? "null"
            return try Build.operation(.put, "lists", id, "{\"made\":\(value)}")
        }
        let plans = try self.plans(
            [
                put("a", nil), put("b", "x"), put("c", "b"), put("d", "c"), put("e", "e"), put("f", "x"),
                Build.operation(.patch, "lists", "g", #"{"made":"h"}"#),
                Build.operation(.patch, "lists", "h", #"{"made":"g"}"#),
            ], planner)
        #expect(
            plans.map { $0.parents[0] } == [nil, "x", "b", "c", nil, "x", "h", "g"],
            "none, and its own row, are not asked about")
        let runs = UploadRun.runs(of: plans).map { $0.operations.map(\.index) }
        #expect(runs == [[0, 1], [2], [3, 4, 5], [6, 7]])
    }

    @Test func whoOwnsNoParentIsToldThatItIsMissing() throws {
        let yaml =
            "tables: { things: { table: app.things, id: thing_id, parents: { name: lists } }, "
            + "lists: { owner: owner_id } }\n"
        let operation = try Build.operation(
            .patch, "things", "0f8fad5b-d9cb-469f-a165-70867728950e", #"{"name":"a"}"#)
        let refusal = thrown { try planner(yaml, subject: "no uuid").plan(operation, at: 3) } as? Refusal
        #expect(refusal?.code == "PARENT_MISSING")
        #expect(refusal?.column == "name" && refusal?.index == 3 && refusal?.table == "things")
        #expect(refusal?.sqlstate == nil)
    }

    @Test func twoSpellingsOfOneUUIDAreOneID() throws {
        let upper = "0F8FAD5B-D9CB-469F-A165-70867728950E"
        let plans = try self.plans(
            [
                Build.operation(.put, "things", upper, #"{"name":"1"}"#),
                Build.operation(.put, "things", upper.lowercased(), #"{"name":"2"}"#),
            ], planner("tables: { things: { table: app.things, id: thing_id } }\n"))
        #expect(UploadRun.runs(of: plans).count == 2)
    }

    // MARK: SQL

    private func sql(_ operations: [UploadOperation], _ yaml: String) throws -> UploadSQL {
        let planner = try planner(yaml)
        let runs = UploadRun.runs(of: try plans(operations, planner))
        try #require(runs.count == 1)
        return UploadSQL(runs[0], owner: try planner.owner(of: runs[0].operations[0].table))
    }

    @Test func oneRowIsUpserted() throws {
        let sql = try sql(
            [Build.operation(.put, "lists", "a", #"{"name":"x","at":"2025-01-01T01:00+02"}"#)],
            "tables: { lists: }\n")
        #expect(
            sql.text == """
                INSERT INTO "public"."lists" AS t ("id", "at", "name") VALUES ($1::text, \
                $2::timestamp without time zone, $3::text) ON CONFLICT ("id") DO UPDATE SET \
                "at" = excluded."at", "name" = excluded."name"
                """)
        #expect(sql.parameters == ["a", "2024-12-31 23:00:00", "x"])
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
                unnest($1::text[], $2::integer[]) WITH ORDINALITY AS u(k, c0, o) ORDER BY u.o ON CONFLICT ("id") DO UPDATE \
                SET "n" = excluded."n" RETURNING t."id"::text
                """)
        #expect(sql.parameters == [#"{"a","b"}"#, #"{"1",NULL}"#])
    }

    /// Where nothing but an error keeps a row out, the ids of all need not come back.
    @Test func severalRowsReturnNothingWhereAllAreTouched() throws {
        var catalog = Build.catalog
        for name in catalog.tables.keys { catalog.tables[name]?.showsNoOrder = true }
        for (yaml, data, returns) in [
            ("tables: { lists: }\n", #"{"n":1,"body":{},"at":"2025-01-01"}"#, false),
            ("tables: { lists: { owner: owner_id } }\n", #"{"name":"x"}"#, false),
            ("tables: { lists: }\n", "{}", true),
        ] {
            let tables = try UploadTables(
                map: TableMap(yaml: yaml, source: "map.yaml"), source: "map.yaml", catalog: catalog)
            let planner = UploadPlanner(tables: tables, subject: subject)
            let operations = try ["a", "b"].map { try Build.operation(.put, "lists", $0, data) }
            let runs = RunOrder.runs(of: try plans(operations, planner), alone: [])
            try #require(runs.count == 1)
            let sql = UploadSQL(runs[0], owner: try planner.owner(of: runs[0].operations[0].table))
            #expect(sql.text.contains("RETURNING") == returns, "\(sql.text)")
        }
    }

    /// The tag of a PUT of one row tells whether there was one, and RETURNING whether policies let it be seen.
    @Test func oneRowIsReturnedWherePoliciesMayHideIt() throws {
        let operation = try Build.operation(.put, "lists", "a", #"{"n":1}"#)
        for (change, returns) in [
            ({ _ in }, false), ({ $0.hasRowSecurity = true }, true), ({ $0.isLockable = false }, true),
        ] as [((inout Catalog.Table) -> Void, Bool)] {
            var catalog = Build.catalog
            for name in catalog.tables.keys { change(&catalog.tables[name]!) }
            let tables = try UploadTables(
                map: TableMap(yaml: "tables: { lists: }\n", source: "map.yaml"), source: "map.yaml",
                catalog: catalog)
            let planner = UploadPlanner(tables: tables, subject: subject)
            let runs = RunOrder.runs(of: try plans([operation], planner), alone: [])
            #expect(UploadSQL(runs[0], owner: nil).text.contains("RETURNING") == returns)
        }
    }

    /// Of the row that is there, locked as the upsert would lock it.
    @Test func aRequiredColumnThatIsNotSentIsThatOfTheRow() throws {
        let yaml = "tables: { things: { table: app.things, id: thing_id } }\n"
        let one = "0f8fad5b-d9cb-469f-a165-70867728950e"
        let other = "0f8fad5b-d9cb-469f-a165-70867728950f"
        let row = try sql([Build.operation(.put, "things", one, #"{"name":"x","rank":1}"#)], yaml)
        #expect(
            row.text == """
                INSERT INTO "app"."things" AS t ("thing_id", "name", "rank", "title") SELECT $1::uuid, $2::text, \
                $3::integer, e."title" FROM (VALUES (1)) AS u(o) LEFT JOIN LATERAL (SELECT r."title" FROM "app"."things" \
                AS r WHERE r."thing_id" = $1::uuid FOR NO KEY UPDATE) AS e ON true ON CONFLICT ("thing_id") DO UPDATE SET \
                "name" = excluded."name", "rank" = excluded."rank"
                """)
        let rows = try sql(
            [Build.operation(.put, "things", one, "{}"), Build.operation(.put, "things", other, "{}")], yaml)
        #expect(
            rows.text == """
                INSERT INTO "app"."things" AS t ("thing_id", "rank", "title") SELECT u.k::uuid, e."rank", e."title" FROM \
                pg_catalog.unnest($1::uuid[]) WITH ORDINALITY AS u(k, o) LEFT JOIN LATERAL (SELECT r."rank", r."title" FROM \
                "app"."things" AS r WHERE r."thing_id" = u.k::uuid FOR NO KEY UPDATE) AS e ON true ORDER BY u.o ON CONFLICT \
                ("thing_id") DO NOTHING RETURNING t."thing_id"::text
                """)
        let full = try sql(
            [Build.operation(.put, "things", one, #"{"title":"x","rank":1}"#)], yaml)
        #expect(!full.text.contains("LATERAL"))
        let patch = try sql([Build.operation(.patch, "things", one, #"{"name":"x"}"#)], yaml)
        #expect(!patch.text.contains("LATERAL"))
    }

    /// A row of another lends nothing to the proposed one, and is not locked before it is known whose it is.
    @Test func whatIsNotSentIsNeverThatOfAnothersRow() throws {
        let yaml = "tables: { things: { table: app.things, id: thing_id, owner: name } }\n"
        let ids = [subject, "0f8fad5b-d9cb-469f-a165-70867728950f"]
        let theirs = #" AND r."name"::text COLLATE pg_catalog."C" = $4::text FOR NO KEY UPDATE) AS e"#
        for count in 1...2 {
            let sql = try sql(
                ids.prefix(count).map { try Build.operation(.put, "things", $0, #"{"rank":1}"#) }, yaml)
            #expect(sql.text.contains(theirs), "\(sql.text)")
            #expect(sql.parameters.count == 4)
            #expect(sql.parameters.last == subject)
        }
    }

    @Test func ownersAreComparedInEveryStatement() throws {
        let yaml = "tables: { lists: { owner: owner_id } }\n"
        let put = try sql([Build.operation(.put, "lists", "a", #"{"n":1}"#)], yaml)
        #expect(
            put.text.contains(
                #"WHERE CASE WHEN t."owner_id"::text COLLATE pg_catalog."C" = $4::text THEN true ELSE "#))
        #expect(put.text.contains("ELSE pg_catalog.setseed(2) IS NULL END"))
        #expect(put.parameters == ["a", "1", subject, subject])
        for operation in [
            try Build.operation(.patch, "lists", "a", #"{"n":1}"#),
            try Build.operation(.delete, "lists", "a"),
        ] {
            let sql = try sql([operation], yaml)
            let parameter = "$\(sql.parameters.count)"
            #expect(
                sql.text.contains(
                    #" AND t."owner_id"::text COLLATE pg_catalog."C" = \#(parameter)::text RETURNING"#))
            #expect(!sql.text.contains("setseed"), "a row of another is missing")
            #expect(sql.parameters.last == subject)
        }
        // Of other types than these the texts of values are read one by one, as in a statement of one row.
        let types = #"$1::text[], $2::text[], $3::text[], $4::integer[], $5::uuid[])"#
        let data = #"{"at":"2025-01-01","body":{},"n":1}"#
        let rows = try sql((0..<2).map { try Build.operation(.put, "lists", "a\($0)", data) }, yaml)
        #expect(rows.text.contains("FROM unnest(\(types)"), "\(rows.text)")
        let changes = try sql((0..<2).map { try Build.operation(.patch, "lists", "a\($0)", data) }, yaml)
        #expect(!changes.text.contains("integer[]"))
        let many = try sql((0..<3).map { try Build.operation(.delete, "lists", "a\($0)") }, yaml)
        #expect(many.text.contains("USING pg_catalog.unnest($1::text[])"))
        #expect(many.parameters == [#"{"a0","a1","a2"}"#, subject])
    }

    @Test func aStrictStatementFailsForARowThatItDoesNotFind() throws {
        let planner = try planner("tables: { lists: { owner: owner_id } }\n")
        let operations = [try Build.operation(.patch, "lists", "a", #"{"n":1}"#)]
        let run = try #require(UploadRun.runs(of: try plans(operations, planner)).first)
        let sql = UploadSQL(run, owner: subject, isStrict: true)
        #expect(
            sql.text.hasPrefix(
                """
                WITH done AS (UPDATE "public"."lists" AS t SET "n" = u.c0::integer FROM unnest($1::text[], $2::text[]) \
                WITH ORDINALITY AS u(k, c0, o) WHERE t."id" = u.k::text AND t."owner_id"::text COLLATE pg_catalog."C" = \
                $3::text RETURNING u.o::text AS o)
                """))
        #expect(sql.text.contains("current_setting('psb.there')"))
        #expect(sql.text.contains("ELSE pg_catalog.setseed(2) IS NULL END"))
        #expect(sql.parameters == [#"{"a"}"#, #"{"1"}"#, subject])
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
        let plans = try self.plans(operations, planner())
        let states = UploadStates.states(
            of: operations, plans: plans, runs: UploadRun.runs(of: plans),
            touched: [.these(["b"]), .these(["2"]), .nothing])
        #expect(states.map(\.status) == ["noop", "applied", "noop", "applied", "noop", "noop"])
        #expect(
            states.map(\.code) == [
                "SUPPRESSED_BY_TRIGGER", nil, "ROW_MISSING", nil, "ROW_MISSING", "NO_CHANGES",
            ])
        #expect(states[0].opID == 5)
    }
}
