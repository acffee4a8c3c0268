import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// A person wants to be forgotten (backend 3.4, Retention).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct EraseTests {
    @Test func aPersonIsForgottenAndNobodyElse() async throws {
        try await OperatorDesk.with { backend, desk in
            for user in ["u1", "u2"] {
                for (client, name) in [("c", "good"), ("d", "bad")] {
                    _ = try await backend.upload(
                        "{\"v\":1,\"client_id\":\"\(client)\",\"transactions\":[{\"crud\":[{\"op_id\":1,"
                            + OperatorDesk.put(user, name).dropFirst() + "]}]}", user: user)
                }
            }
            // What failing uploads leave until they are applied, and what earlier backends left.
            for statement in [
                """
                INSERT INTO psb.upload_attempts (user_id, body_hash, sqlstate)
                VALUES ('u1', '\\x00', 'XX000'), ('u2', '\\x00', 'XX000')
                """,
                "ALTER TABLE psb.upload_ledger DISABLE TRIGGER refuse_older_backend",
                """
                INSERT INTO psb.upload_ledger (user_id, client_id, first_op_id, last_op_id, body_hash, verdict)
                VALUES ('u1', 'c', 1, 1, '\\x00', 1), ('u2', 'c', 1, 1, '\\x00', 1)
                """,
                "INSERT INTO psb.disabled_users (user_id) VALUES ('u1'), ('u2')",
            ] {
                _ = try await backend.query(statement)
            }
            func rows(of user: String) async throws -> [[[String?]]] {
                var rows: [[[String?]]] = []
                for table in ["dead_letters", "ledger", "upload_attempts", "upload_ledger"] {
                    let sql = "SELECT * FROM psb.\(table) WHERE user_id = $1::text"
                    rows.append(try await backend.query(sql, [user]))
                }
                return rows
            }
            let kept = try await rows(of: "u2")
            #expect(kept.map(\.count) == [1, 2, 1, 1])
            #expect(try await rows(of: "u1").map(\.count) == [1, 2, 1, 1])
            let asked = await desk.run("erase", "--user", "u1")
            #expect(asked.status == 1 && asked.text.contains("Nothing is changed"))
            #expect(try await rows(of: "u1").map(\.count) == [1, 2, 1, 1])
            // The line of README.md.
            let line = try #require(
                Repository.text("README.md").firstMatch(of: /`powersync-backend (erase .*?)`/))
            let words = line.1.split(separator: " ").map { $0 == "SUBJECT" ? "u1" : String($0) }
            let done = await desk.run(words + ["--json"])
            #expect(done.status == 0)
            let removed = try #require(try done.json["removed"])
            #expect(
                removed.objectMembers == [
                    JSONMember("psb.attachments", .integer(0)), JSONMember("psb.dead_letters", .integer(1)),
                    JSONMember("psb.ledger", .integer(2)), JSONMember("psb.upload_attempts", .integer(1)),
                    JSONMember("psb.upload_ledger", .integer(1)),
                ])
            #expect(try await rows(of: "u1").map(\.count) == [0, 0, 0, 0])
            #expect(try await rows(of: "u2") == kept)
            #expect(
                try await backend.scalar("SELECT count(*) FROM psb.disabled_users") == "2", "u1 stays out")
            #expect(
                try await backend.scalar("SELECT count(*) FROM lists") == "2", "the app's rows are the app's")
            #expect(await desk.run("erase").status == 64)
        }
    }

    /// Tables of an app that happen to have the name; no statement of the backend may touch one.
    @Test(arguments: [
        "CREATE TABLE public.checkpoints (id integer, user_id uuid)",
        "CREATE TABLE public.checkpoints (user_id text, level integer)",
        "CREATE TABLE public.checkpoints (user_id text NOT NULL, client_id text NOT NULL, checkpoint bigint NOT NULL)",
        """
        CREATE TABLE public.checkpoints (user_id text NOT NULL, client_id text NOT NULL, checkpoint bigint NOT NULL,
            note text, PRIMARY KEY (user_id, client_id))
        """,
    ])
    func checkpointsOfTheAppAreTheApps(table: String) async throws {
        try await OperatorDesk.with { backend, desk in
            _ = try await backend.query(table)
            if !table.contains("uuid") {
                let columns = table.contains("client_id") ? "(user_id, client_id, checkpoint)" : "(user_id)"
                let values = table.contains("client_id") ? "('u1', 'c', 1)" : "('u1')"
                _ = try await backend.query("INSERT INTO public.checkpoints \(columns) VALUES \(values)")
            }
            let rows = try await backend.scalar("SELECT count(*) FROM public.checkpoints")
            _ = try await backend.upload("{\"batch\":[\(OperatorDesk.put("a"))]}")
            // The line of README.md.
            let line = try #require(
                Repository.text("README.md").firstMatch(of: /`powersync-backend (erase .*?)`/))
            let words = line.1.split(separator: " ").map { $0 == "SUBJECT" ? "u1" : String($0) }
            let done = await desk.run(words + ["--json"])
            #expect(done.status == 0)
            let removed = try #require(try done.json["removed"])
            #expect(removed["psb.dead_letters"] == .integer(1) && removed["public.checkpoints"] == nil)
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "0")
            #expect(try await backend.scalar("SELECT count(*) FROM public.checkpoints") == rows)
        }
    }

    @Test func checkpointsOfTheBackendGo() async throws {
        try await OperatorDesk.with({ $0.hasCustomCheckpoints = true }) { backend, desk in
            for user in ["u1", "u2"] {
                let token = try await backend.token(user)
                let answer = try await backend.send(
                    "PUT", "/api/data/checkpoint", "{}", fields: ["authorization": "Bearer \(token)"])
                #expect(answer.status == 200)
            }
            let done = await desk.run("erase", "--user", "u1", "--yes", "--json")
            #expect(try done.json["removed"]?["public.checkpoints"] == .integer(1))
            #expect(try await backend.query("SELECT user_id FROM public.checkpoints") == [["u2"]])
        }
    }

    @Test func aDatabaseWithoutLettersSaysSo() async throws {
        try await OperatorDesk.with { backend, desk in
            _ = try await backend.query("DROP SCHEMA psb CASCADE")
            for arguments in [
                ["letters", "list"], ["erase", "--user", "u1"], ["erase", "--user", "u1", "--yes"],
            ] {
                let answer = await desk.run(arguments)
                #expect(answer.status == 1 && answer.text.isEmpty)
                #expect(
                    answer.errors.hasPrefix("error: this database is no backend's: it has no schema psb."))
            }
        }
    }
}
