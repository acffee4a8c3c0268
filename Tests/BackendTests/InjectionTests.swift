import Foundation
import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Texts of clients that would be SQL (reliability 3): the server itself tells what it was asked to do.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient(), .namesSeed)
struct InjectionTests {
    private static let count = 10_000
    /// Each refusal is a letter, of which a user may have so many; the users have such texts for names, too.
    private static let users = 20
    /// As many operations as a request has here.
    private static let batch = 500

    private static let schema = """
        CREATE TABLE notes (id text PRIMARY KEY, owner_id text NOT NULL, body text, doc jsonb, tags text[]);
        CREATE TABLE secrets (id text PRIMARY KEY, body text);
        INSERT INTO secrets VALUES ('1', 'kept');
        """
    private static let map = "tables: { notes: { owner: owner_id } }"

    /// Everything that has a name in the database.
    private static let names = """
        SELECT md5(concat(
            (SELECT string_agg(concat_ws(' ', oid, relname, relkind, relacl::text), '|' ORDER BY oid)
                FROM pg_class WHERE relpersistence <> 't'),
            (SELECT string_agg(concat_ws(' ', attrelid, attname, atttypid), '|' ORDER BY attrelid, attnum)
                FROM pg_attribute WHERE attrelid IN (SELECT oid FROM pg_class WHERE relpersistence <> 't')),
            (SELECT string_agg(concat_ws(' ', oid, proname), '|' ORDER BY oid) FROM pg_proc),
            (SELECT string_agg(concat_ws(' ', oid, rolname, rolsuper), '|' ORDER BY oid) FROM pg_roles),
            (SELECT string_agg(concat_ws(' ', id, body), '|') FROM public.secrets)))
        """

    /// A backend whose server logs each statement, without its parameters.
    private struct Desk {
        let backend: TestBackend
        let server: PostgresServer
        let texts: [String]

        func user(_ number: Int) -> String { texts[number % InjectionTests.users] }

        func body(_ operations: [String]) -> String { "{\"batch\":[\(operations.joined(separator: ","))]}" }

        /// Sends operations in batches, each of another user.
        func upload(
            _ operations: [String], _ look: (TestBackend.Answer, Int) throws -> Void
        ) async throws {
            let starts = stride(from: 0, to: operations.count, by: InjectionTests.batch)
            for (number, start) in starts.enumerated() {
                let part = operations[start..<min(operations.count, start + InjectionTests.batch)]
                let answer = try await backend.upload(body(Array(part)), user: user(number))
                try #require(answer.status == 200, "\(answer.json.text.prefix(500))")
                try look(answer, part.count)
            }
        }

        /// What backends have had the server do, by its log.
        func statements() throws -> Set<String> {
            let log = try String(contentsOfFile: server.temporaryFolder + "/log", encoding: .utf8)
            var statements: Set<String> = []
            for entry in log.components(separatedBy: "@@powersync-backend@@").dropFirst() {
                // Other programs' entries follow in the log with a mark of their own.
                let own = entry.components(separatedBy: "@@")[0]
                let kinds = ["LOG:  execute ", "LOG:  statement: ", "STATEMENT:  "]
                for kind in kinds where own.hasPrefix(kind) {
                    var text = own.dropFirst(kind.count)
                    if kind.hasSuffix("execute "), let colon = text.firstIndex(of: ":") {
                        text = text[colon...].dropFirst(2)
                    }
                    statements.insert(String(text.trimmingCharacters(in: .whitespacesAndNewlines)))
                }
            }
            return statements
        }
    }

    private func with(_ count: Int, _ body: (Desk) async throws -> Void) async throws {
        try await forEachSeed(1) { random in
            let texts = InjectionTexts.make(count, &random)
            try await TestCluster.withServer { server in
                try await TestBackend.with(
                    schema: Self.schema, uri: server.uri(), map: Self.map, { $0.isolatesLegacyBatches = true }
                ) { backend in
                    for setting in [
                        "log_statement = 'all'", "log_line_prefix = '@@%a@@'", "log_parameter_max_length = 0",
                        "log_parameter_max_length_on_error = 0",
                    ] { _ = try await backend.query("ALTER SYSTEM SET \(setting)") }
                    _ = try await backend.query("SELECT pg_reload_conf()")
                    try await wait(
                        for: "the server to log", read: { try await backend.scalar("SHOW log_statement") },
                        until: { $0 == "all" })
                    let names = try await backend.scalar(Self.names)
                    let desk = Desk(backend: backend, server: server, texts: texts)
                    try await body(desk)
                    let statements = try desk.statements()
                    #expect(statements.count > 5, "the log was read")
                    #expect(statements.count < 200, "a text is a parameter, and makes no statement")
                    for statement in statements {
                        #expect(!statement.contains(InjectionTexts.mark), "\(statement)")
                        #expect(!statement.contains("secrets"), "\(statement)")
                    }
                    #expect(try await backend.scalar(Self.names) == names, "nothing has come or gone")
                    let known = "SELECT count(*) FROM notes WHERE NOT owner_id = ANY ($1::text[])"
                    let users = arrayLiteral(texts.prefix(Self.users).map { $0 })
                    #expect(try await backend.query(known, [users]) == [["0"]])
                }
            }
        }
    }

    /// An operation; the values of its data are JSON already.
    private func operation(
        _ kind: String, _ id: String, table: String = "notes", _ data: [(String, String)]
    ) -> String {
        let members = data.map { "\(JSON.quoted($0.0)):\($0.1)" }.joined(separator: ",")
        let names = [("op", kind), ("table", table), ("id", id)].map { "\"\($0.0)\":\(JSON.quoted($0.1))" }
        return "{\(names.joined(separator: ",")),\"data\":{\(members)}}"
    }

    @Test func tenThousandTextsAreValues() async throws {
        try await with(Self.count) { desk in
            func values(_ text: String) -> [(String, String)] {
                let quoted = JSON.quoted(text)
                return [("body", quoted), ("doc", "{\(quoted):\(quoted)}"), ("tags", "[\(quoted)]")]
            }
            func expect(_ state: String, _ operations: [String]) async throws {
                try await desk.upload(operations) { answer, count in
                    #expect(answer.states == Array(repeating: state, count: count))
                }
            }
            try await expect("applied", desk.texts.map { operation("PUT", $0, values($0)) })
            let same = """
                SELECT count(*) FROM notes
                WHERE body = id AND doc = jsonb_build_object(id, id) AND tags = ARRAY[id]
                """
            #expect(try await desk.backend.scalar(same) == String(Self.count))
            // Again, in other statements: rows that are there, and one at a time.
            try await expect("applied", desk.texts.map { operation("PATCH", $0, values($0)) })
            // Those of the first batch are the first user's.
            for text in desk.texts.prefix(200) {
                for kind in ["PATCH", "PUT"] {
                    let one = operation(kind, text, values(text))
                    let state = try await desk.backend.apply(one, user: desk.user(0))
                    #expect(state == "applied")
                }
            }
            #expect(try await desk.backend.scalar(same) == String(Self.count))
            try await expect("applied", desk.texts.map { operation("DELETE", $0, []) })
            #expect(try await desk.backend.scalar("SELECT count(*) FROM notes") == "0")
            #expect(try await desk.backend.scalar("SELECT count(*) FROM psb.dead_letters") == "0")
        }
    }

    @Test func tenThousandTextsAreNames() async throws {
        try await with(Self.count) { desk in
            let rejected = "rejected"
            func expect(_ code: String, _ operations: [String]) async throws {
                try await desk.upload(operations) { answer, count in
                    #expect(answer.states == Array(repeating: rejected, count: count))
                    #expect(answer.errorCodes == [code])
                }
            }
            let tables = desk.texts.map { operation("PUT", "a", table: $0, [("body", "1")]) }
            try await expect("UNKNOWN_TABLE", tables)
            try await expect("UNKNOWN_COLUMN", desk.texts.map { operation("PUT", "a", [($0, "1")]) })
            let refused = """
                SELECT (SELECT count(*) FROM psb.dead_letters WHERE error_code = 'UNKNOWN_TABLE'),
                    (SELECT count(*) FROM psb.dead_letters WHERE error_code = 'UNKNOWN_COLUMN'),
                    (SELECT count(*) FROM notes)
                """
            let each = String(Self.count)
            #expect(try await desk.backend.query(refused) == [[each, each, "0"]])
        }
    }

    /// What else of a request is a name: of an operation, a device, a place in a list.
    @Test func whateverElseIsNamedIsNoStatementEither() async throws {
        try await with(1_000) { desk in
            let backend = desk.backend
            let kinds = desk.texts.prefix(500).map { operation($0, "a", []) }
            try await desk.upload(kinds) { answer, count in
                #expect(answer.states == Array(repeating: "rejected", count: count))
                #expect(answer.errorCodes == ["UNKNOWN_OPERATION"])
            }
            for (number, text) in desk.texts.enumerated() {
                let (user, quoted) = (desk.user(number), JSON.quoted(text))
                let put = operation("PUT", "c\(number)", [("body", quoted)]).dropFirst()
                let device = #"{"v":1,"client_id":\#(quoted),"request_id":\#(quoted),"transactions":["#
                let body = device + #"{"tx_id":\#(number + 1),"crud":[{"op_id":1,\#(put)]}]}"#
                let answer = try await backend.upload(body, user: user)
                #expect(answer.status == 200 && answer.states == ["applied"], "\(answer.json.text)")
                let encoded = text.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
                let fields: HTTPFields = [
                    "authorization": "Bearer \(try await backend.token(user))",
                    "x-request-id": text.replacing("\r\n", with: " ").replacing("\n", with: " "),
                ]
                let rejections = "/api/v1/rejections"
                let requests: [(String, String, Int)] = [
                    ("GET", "\(rejections)?after=\(encoded)", 400),
                    ("GET", "\(rejections)?limit=\(encoded)", 400),
                    ("POST", "\(rejections)/\(encoded)/ack", 404), ("GET", "/api/data/\(encoded)", 404),
                ]
                for (method, target, status) in requests {
                    let answer = try await backend.send(method, target, fields: fields)
                    #expect(answer.status == status, "\(method) \(target): \(answer.json.text)")
                    #expect(!answer.json.text.contains(InjectionTexts.mark), "nothing of it is said")
                }
            }
            #expect(try await backend.scalar("SELECT count(*) FROM notes") == "1000")
        }
    }

    /// What no name of the database can be, and no column hold.
    @Test func namesThatNoTextOfPostgresHoldsAreRefused() async throws {
        let accents = "x" + String(repeating: "\u{301}", count: 100_000)
        try await TestBackend.with(schema: Self.schema, map: Self.map) { backend in
            for name in ["no\0tes", "notes\0", "\0", "", "notes\u{FEFF}", "NOTES", "public.notes", accents] {
                let table = try await backend.apply(operation("PUT", "a", table: name, [("body", "1")]))
                #expect(table == "UNKNOWN_TABLE", "\(name.prefix(20))")
                let column = try await backend.apply(operation("PUT", "a", [(name, "1")]))
                #expect(column == "UNKNOWN_COLUMN", "\(name.prefix(20))")
            }
            let ids = try await backend.apply(operation("PUT", accents, [("body", "1")]))
            #expect(ids == "INVALID_DATA")
            let longest = """
                SELECT max(greatest(octet_length(table_name), octet_length(row_id))) FROM psb.dead_letters
                """
            let bytes = try #require(try await backend.scalar(longest).flatMap { Int($0) })
            #expect(bytes > 255 && bytes <= 1_020, "a character may be as long as a body")
            #expect(try await backend.scalar("SELECT count(*) FROM notes") == "0")
        }
    }
}
