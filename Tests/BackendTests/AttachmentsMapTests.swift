import Foundation
import PowerSyncBackend
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What a table map says about attachments, and what is wrong with it.
struct AttachmentsMapTests {
    @Test func columnsAndConditionOfTheMapCount() throws {
        let tables = try Build.tables(
            """
            tables:
              lists:
                owner: owner_id
                attachments: [name, owner_id, n]
                read: |
                  secret = :sub
                  OR made = 'everybody'
              things_of_mine: { table: app.things, id: thing_id, attachments: [name] }
              others: { table: app.things, id: thing_id }
            """)
        #expect(tables.attachmentTables.map(\.name) == ["lists", "things_of_mine"])
        #expect(!tables.isMissingAttachments)
        let lists = try #require(tables.tables[ExactText("lists")])
        #expect(lists.attachments.map(\.name) == ["name", "owner_id", "n"])
        #expect(
            lists.read?.sql(subject: "$3::text") == "(secret = $3::text\nOR made = 'everybody'\n\n)")
        #expect(tables.tables[ExactText("things_of_mine")]?.read == nil)
        #expect(tables.tables[ExactText("others")]?.attachments == [])
    }

    @Test(arguments: [
        ("attachments: [nosuch]", "line 3, column 19", "has no column nosuch"),
        ("attachments: [name, body]", "line 3, column 25", "of type jsonb, which holds no ids"),
        ("attachments: [at]", "line 3, column 19", "of type timestamp without time zone"),
        ("attachments: [tags]", "line 3, column 19", "of type text[]"),
        ("attachments: [name, n, name]", "line 3, column 28", "stands there twice"),
        ("attachments: name", "line 3, column 18", "expected a list of columns"),
        ("attachments: []", "line 3, column 18", "expected a list of columns"),
        ("attachments: [[name]]", "line 3, column 19", "expected a name"),
        ("read: 'true'", "line 3, column 11", "name their columns in attachments"),
        ("attachments: [name]\n    read: ''", "line 4, column 11", "expected a condition"),
        ("attachments: [name]\n    read: [a]", "line 4, column 11", "expected a condition"),
        ("attachments: [name]\n    read: (true", "line 4, column 11", "parentheses"),
        ("attachments: [name]\n    read: true) OR (true", "line 4, column 11", "parentheses"),
        ("attachments: [name]\n    read: true; DROP TABLE lists", "line 4, column 11", "semicolon"),
        ("attachments: [name]\n    read: a = $1", "line 4, column 11", "only parameter"),
        ("attachments: [name]\n    read: \"a = 'b\"", "line 4, column 11", "a quote has no end"),
        (
            "attachments: [name]\n    reads: true", "line 4, column 5",
            "known are table, id, owner, parents, ops, columns, attachments, read"
        ),
    ])
    func aMistakeIsNamedWithItsPlace(text: String, place: String, message: String) throws {
        let error = try #require(
            thrown { try Build.tables("tables:\n  lists:\n    \(text)\n") } as? BackendError)
        #expect(error.code == .tableMap)
        #expect(error.message.contains(place), "\(error.message)")
        #expect(error.message.contains(message), "\(error.message)")
    }

    /// While a database is changed its rows are written as ever, and attachments wait.
    @Test func whatARunningBackendMissesIsKnownToBeMissing() throws {
        let map = try TableMap(
            yaml:
                "tables: { lists: { attachments: [name, made] }, things: { table: app.things, id: thing_id } }\n",
            source: "map.yaml")
        let lists = Catalog.Name(schema: "public", table: "lists")
        func tables(_ change: (inout Catalog) -> Void) throws -> UploadTables {
            var catalog = Build.catalog
            change(&catalog)
            return try UploadTables(map: map, source: "map.yaml", catalog: catalog, isRunning: true)
        }
        let whole = try tables { _ in }
        #expect(!whole.isMissingAttachments)
        let without = try tables { $0.tables[lists]?.columns.removeAll { $0.name == "made" } }
        #expect(without.isMissingAttachments)
        #expect(without.tables[ExactText("lists")]?.attachments.map(\.name) == ["name"])
        let changed = try tables { catalog in
            let index = catalog.tables[lists]?.columns.firstIndex { $0.name == "made" }
            if let index { catalog.tables[lists]?.columns[index].typeOID = 1114 }
        }
        #expect(changed.isMissingAttachments && changed.tables[ExactText("lists")] != nil)
        let gone = try tables { $0.tables[lists] = nil }
        #expect(gone.isMissingAttachments)
        let things = Catalog.Name(schema: "app", table: "things")
        let others = try tables { $0.tables[things] = nil }
        #expect(!others.isMissingAttachments, "that table has none")
    }

    // MARK: Conditions

    @Test(arguments: [
        (":sub", "(?\n)"), ("a = :sub AND b = :sub", "(a = ? AND b = ?\n)"),
        ("a=:sub::uuid", "(a=?::uuid\n)"),
        ("a::text = :sub", "(a::text = ?\n)"), ("a = b::sub", "(a = b::sub\n)"),
        ("f(x := :sub)", "(f(x := ?)\n)"),
        ("a = :subject", "(a = :subject\n)"), ("a = :sub1", "(a = :sub1\n)"), ("a = :SUB", "(a = :SUB\n)"),
        ("a = ':sub'", "(a = ':sub'\n)"), ("a = 'it''s :sub'", "(a = 'it''s :sub'\n)"),
        (#"a = E'\':sub' || :sub"#, "(a = E'\\':sub' || ?\n)"),
        (#"a = e'\\' || :sub"#, "(a = e'\\\\' || ?\n)"),
        (#"type'\' = :sub"#, "(type'\\' = ?\n)"), ("\":sub\" = :sub", "(\":sub\" = ?\n)"),
        ("\"a\"\":sub\" = :sub", "(\"a\"\":sub\" = ?\n)"), ("U&':sub' = :sub", "(U&':sub' = ?\n)"),
        ("a = :sub -- not :sub", "(a = ? -- not :sub\n)"), ("a -- '\n= :sub", "(a -- '\n= ?\n)"),
        ("a /* :sub */ = :sub", "(a /* :sub */ = ?\n)"),
        ("a /* /* :sub */ :sub */ = :sub", "(a /* /* :sub */ :sub */ = ?\n)"),
        ("a = $$:sub$$ || :sub", "(a = $$:sub$$ || ?\n)"),
        ("a = $x$ $y$ :sub $x$ || :sub", "(a = $x$ $y$ :sub $x$ || ?\n)"),
        ("a$b$ = :sub", "(a$b$ = ?\n)"), ("a[1:2] = :sub", "(a[1:2] = ?\n)"),
        ("a - -1 = :sub", "(a - -1 = ?\n)"),
        ("ä = :sub", "(ä = ?\n)"), (":subä", "(:subä\n)"), ("(:sub)", "((?)\n)"),
        ("1.5e3 = :sub", "(1.5e3 = ?\n)"),
    ])
    func theSubjectStandsWhereAWordBegins(text: String, sql: String) throws {
        let condition = try ReadCondition(text)
        #expect(condition.sql(subject: "?") == sql)
        #expect(condition.sql(subject: ":sub") == "(\(text)\n)", "nothing else is changed")
        #expect(condition.hasSubject == sql.contains("?"))
    }

    @Test(arguments: [
        "", " \n\t", "-- only this", "/* only this */", "(", ")", "())(", "a;", "a = 'b", "a = \"b",
        "a = E'\\'", "/* a",
        "/* /* a */", "a = $$b", "a = $x$b$y$", "a = $1", "a\u{0}b",
    ])
    func whatIsNoConditionIsRefused(text: String) {
        #expect(throws: ReadCondition.Mistake.self) { try ReadCondition(text) }
    }
}

/// What Postgres says against a condition, at the start.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct AttachmentsStartTests {
    private func refusal(
        schema: String = AttachmentsFixture.schema, uri: String? = nil, map: String,
        _ change: (inout BackendConfiguration) -> Void = { _ in }
    ) async throws -> BackendError? {
        do {
            let backend = try await TestBackend.start(schema: schema, uri: uri, map: map, change)
            await backend.stop()
            return nil
        } catch let error as BackendError {
            return error
        }
    }

    private func map(_ read: String) -> String {
        "tables:\n  notes:\n    owner: owner_id\n    attachments: [photo_id]\n    read: |\n      \(read)\n"
    }

    @Test(arguments: [
        ("nobody = :sub", "nobody"), ("friend = :subject", "syntax"), ("friend", "boolean"),
        ("cover_id = :sub", "uuid = text"), ("EXISTS (SELECT FROM nothing)", "nothing"),
        ("friend = ", "syntax"),
        ("nothing(:sub)", "nothing"), ("count(*) > 0", "aggregate"),
    ])
    func aConditionThatPostgresRefusesEndsTheStart(read: String, word: String) async throws {
        let error = try await refusal(map: map(read))
        #expect(error?.code == .tableMap)
        #expect(error?.message.contains("line 5, column 11") == true, "\(error?.message ?? "no error")")
        #expect(error?.message.contains(word) == true, "\(error?.message ?? "no error")")
    }

    @Test(arguments: [
        "friend = :sub", "cover_id = :sub::uuid", "true", "friend = :sub -- and so on", "owner_id IS NULL",
        "EXISTS (SELECT FROM walls w WHERE w.id = notes.id AND w.picture_id = :sub)",
        "(SELECT is_public FROM boards b WHERE b.id = photo_id)",
    ])
    func aConditionThatPostgresTakesDoesNot(read: String) async throws {
        let error = try await refusal(map: map(read))
        #expect(error == nil, "\(error?.message ?? "")")
    }

    /// What the role may not read, it cannot say.
    @Test func aRightThatIsMissingEndsTheStart() async throws {
        let tables = TwoRoles.tables + "CREATE TABLE secrets (id text);"
        try await TwoRoles.with(tables: tables) { two in
            try await two.migrate { $0.roles = [two.backendRole] }
            try await two.asOwner("REVOKE ALL ON secrets FROM \(two.backendRole)")
            let map =
                "tables:\n  lists:\n    attachments: [photo_id]\n    read: EXISTS (SELECT FROM secrets)\n"
            let error = await #expect(throws: BackendError.self) {
                try await TestBackend.with(schema: "SELECT 1", uri: two.backend, map: map) { _ in }
            }
            #expect(error?.code == .tableMap)
            #expect(error?.message.contains("line 4, column 11") == true, "\(String(describing: error))")
            #expect(error?.message.contains("permission denied for table secrets") == true)
            try await two.asOwner("GRANT SELECT ON secrets TO \(two.backendRole)")
            try await TestBackend.with(schema: "SELECT 1", uri: two.backend, map: map) { _ in }
        }
    }

    /// A view may show each his own rows, and nobody can tell.
    @Test func aViewWhoseRowsAreEverybodysEndsTheStart() async throws {
        let schema = AttachmentsFixture.schema + "CREATE VIEW my_notes AS SELECT * FROM notes;"
        let map = "tables:\n  my_notes: { ops: [PATCH], OWNER attachments: [photo_id] }\n"
        let error = try await refusal(schema: schema, map: map.replacing("OWNER ", with: ""))
        #expect(error?.code == .tableMap)
        #expect(error?.message.contains("the database may hide rows of public.my_notes") == true)
        let owned = try await refusal(schema: schema, map: map.replacing("OWNER", with: "owner: owner_id,"))
        #expect(owned == nil, "\(owned?.message ?? "")")
    }

    /// Of one such table nobody sees all rows, so the unnamed files of all tables stay.
    @Test func aTableThatHidesRowsIsTold() async throws {
        let schema = AttachmentsFixture.schema + "CREATE VIEW my_notes AS SELECT * FROM notes;"
        for (table, isTold) in [("my_notes", true), ("notes", false)] {
            let map = """
                tables:
                  \(table): { ops: [PATCH], owner: owner_id, attachments: [photo_id] }
                  walls: { attachments: [picture_id] }
                """
            try await TestBackend.with(schema: schema, map: map, store: ScriptedStore()) { backend in
                let told = backend.lines.withLock { lines in lines.filter { $0.contains("are never removed") }
                }
                #expect(told.count == (isTold ? 1 : 0), "\(told)")
                #expect(
                    told.allSatisfy { $0.contains("WARNING") && $0.contains("=public.my_notes") }, "\(told)")
            }
        }
    }

    @Test func aColumnThatIsNotThereEndsTheStart() async throws {
        let error = try await refusal(map: "tables:\n  notes: { attachments: [photo] }\n")
        #expect(error?.code == .tableMap)
        #expect(error?.message.contains("line 2, column 26: public.notes has no column photo") == true)
    }

    /// Without the right to list what is missing looks like what is forbidden.
    @Test func aBucketThatRefusesEndsTheStartAndOneThatIsAwayDoesNot() async throws {
        for (status, isRefused) in [(403, true), (503, false)] {
            let server = try RawServer { connection in
                while connection.request() != nil {
                    connection.send("HTTP/1.1 \(status) x\r\ncontent-length: 0\r\n\r\n")
                }
            }
            let configuration = S3Configuration(
                bucket: "photos", endpoint: .init(scheme: "http", host: "127.0.0.1", port: server.port),
                region: "us-east-1", style: .path, credentials: .init(accessKey: "AK", secretKey: "canary"))
            let error = try await refusal(map: AttachmentsFixture.map) {
                $0.attachments = AttachmentConfiguration(store: .s3(configuration))
            }
            #expect((error != nil) == isRefused, "\(error?.message ?? "")")
            if let error {
                #expect(error.code == .configuration && error.message.contains("s3:ListBucket"))
                #expect(!error.message.contains("canary"))
            }
        }
    }

    @Test func aFolderThatCannotBeUsedEndsTheStart() async throws {
        let folder = try TemporaryDirectory(prefix: "attachments-")
        defer { folder.remove() }
        for path in [folder.path + "/none/store", "/dev/null/store"] {
            let error = try await refusal(map: AttachmentsFixture.map) {
                $0.attachments = AttachmentConfiguration(store: .disk(folder: path))
            }
            #expect(error?.code == .configuration)
            #expect(error?.message.contains("ATTACHMENTS_STORE") == true)
        }
    }

    /// As where its disk is not mounted: what goes would be told to a store that does not have it, and to nobody again.
    @Test func aStoreThatIsNotThatOfTheDatabaseEndsTheStart() async throws {
        let folder = try TemporaryDirectory(prefix: "attachments-")
        defer { folder.remove() }
        let (store, away) = (folder.path + "/store", folder.path + "/away")
        let removal = """
            INSERT INTO psb.attachment_removals (key, size, due_at, last_at)
            VALUES ('k', 1, to_timestamp(0), to_timestamp(0))
            """
        let removals = "SELECT count(*) FROM psb.attachment_removals"
        try await TestBackend.with(schema: AttachmentsFixture.schema, map: AttachmentsFixture.map) { other in
            func start() async throws -> BackendError? {
                try await refusal(schema: "SELECT 1", uri: other.uri, map: AttachmentsFixture.map) {
                    $0.attachments = AttachmentConfiguration(store: .disk(folder: store))
                }
            }
            // Of a database that knows no file each is the one.
            let first = try await start()
            #expect(first == nil, "\(first?.message ?? "")")
            try FileManager.default.removeItem(atPath: store)
            let second = try await start()
            #expect(second == nil, "\(second?.message ?? "")")

            _ = try await other.query(removal)
            try FileManager.default.moveItem(atPath: store, toPath: away)
            let refused = try await start()
            #expect(refused?.code == .configuration)
            #expect(refused?.message.hasPrefix("ATTACHMENTS_STORE ") == true, "\(refused?.message ?? "")")
            #expect(refused?.message.contains("psb.attachment_store") == true, "\(refused?.message ?? "")")
            let kept = try await other.scalar(removals)
            #expect(kept == "1", "the store that has it is to be told")

            try FileManager.default.removeItem(atPath: store)
            try FileManager.default.moveItem(atPath: away, toPath: store)
            try await TestBackend.with(
                schema: "SELECT 1", uri: other.uri, map: AttachmentsFixture.map,
                { $0.attachments = AttachmentConfiguration(store: .disk(folder: store)) }
            ) { backend in
                try await wait(
                    for: "the sweep of the start", read: { try await backend.scalar(removals) },
                    until: { $0 == "0" })
            }

            // Whoever has lost the files for good says so.
            _ = try await other.query(removal)
            try FileManager.default.removeItem(atPath: store)
            let again = try await start()
            #expect(again?.code == .configuration)
            _ = try await other.query("DELETE FROM psb.attachment_store")
            let untied = try await start()
            #expect(untied == nil, "\(untied?.message ?? "")")
        }
    }
}
