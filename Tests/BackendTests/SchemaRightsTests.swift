import Foundation
import PowerSyncBackend
import PowerSyncCommandLine
import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What a role that owns nothing must be granted, and that it is enough (backend 6.2).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct SchemaRightsTests {
    /// A backend under such a role, with custom checkpoints and attachments, and the commands beside it.
    private func with(_ body: (TwoRoles, Work) async throws -> Void) async throws {
        let folder = try TemporaryDirectory(prefix: "rights-")
        defer { folder.remove() }
        let map = folder.path + "/map.yaml"
        try TwoRoles.map.write(toFile: map, atomically: true, encoding: .utf8)
        try await TwoRoles.with { two in
            try await two.migrate {
                $0.roles = [two.backendRole]
                $0.hasCheckpoints = true
            }
            try await TestBackend.with(
                schema: "SELECT 1", uri: two.backend, map: TwoRoles.map, store: ScriptedStore(),
                { $0.hasCustomCheckpoints = true }
            ) { backend in
                let desk = OperatorDesk(uri: two.backend, map: map)
                try await body(two, Work(backend: backend, desk: desk, owner: two.owner))
            }
        }
    }

    @Test func theyAreEnough() async throws {
        try await with { two, work in
            #expect(try await work.failure(of: "canary") == nil)
            let isBare = try await two.asSuperuser(
                """
                SELECT NOT (has_database_privilege('\(two.backendRole)', current_database(), 'CREATE')
                    OR has_schema_privilege('\(two.backendRole)', 'public', 'CREATE')
                    OR has_schema_privilege('\(two.backendRole)', 'psb', 'CREATE')
                    OR EXISTS (SELECT FROM pg_class WHERE relowner = '\(two.backendRole)'::regrole))
                """)
            #expect(isBare == "t")
            let second = try await TestBackend.start(
                schema: "SELECT 1", uri: two.backend, map: TwoRoles.map
            ) { $0.hasCustomCheckpoints = true }
            await second.stop()
        }
    }

    /// Who grants by the contract's table has a backend that starts.
    @Test func theContractHasThemAll() throws {
        let rows = try Repository.text("Documentation/Contract/backend.md").split(separator: "\n")
            .filter { $0.hasPrefix("|") }
        for right in SchemaRights.all(hasCheckpoints: true) {
            let object = String(right.object.prefix { $0 != "(" })
            let isTable = right.kind == "TABLE" && object.hasPrefix("psb.")
            let name = "`\(object.dropFirst(isTable ? 4 : 0))`"
            let end = "| " + right.privileges.joined(separator: ", ") + " |"
            let isNamed = rows.contains { $0.contains(name) && $0.hasSuffix(end) }
            #expect(isNamed, "\(right.text)")
        }
    }

    /// Each table that it names is there, and each that is there is named.
    @Test func theContractNamesTheTables() async throws {
        let page = try Repository.text("Documentation/Contract/backend.md")
        let line = try #require(page.split(separator: "\n").first { $0.hasPrefix("`ledger`, `commits`") })
        let list = line.prefix { $0 != ";" }
        let named = Set(list.matches(of: /`([a-z_]+)`/).map { String($0.output.1) })
        try await TwoRoles.with { two in
            try await two.migrate()
            let there = try await two.asSuperuser(
                "SELECT string_agg(tablename, ' ') FROM pg_tables WHERE schemaname = 'psb'")
            #expect(named == Set((there ?? "").split(separator: " ").map(String.init)))
        }
    }

    @Test func eachOfThemIsNeeded() async throws {
        try await with { two, work in
            var number = 0
            for right in SchemaRights.all(hasCheckpoints: true) {
                for privilege in right.privileges {
                    number += 1
                    let single = "\(privilege) ON \(right.kind) \(right.object)"
                    try await two.asOwner("REVOKE \(single) FROM \(two.backendRole)")
                    let failure = try await work.failure(of: "user\(number)")
                    #expect(failure != nil, "everything works without \(single)")
                    try await two.asOwner("GRANT \(single) TO \(two.backendRole)")
                }
            }
            #expect(try await work.failure(of: "last") == nil)
        }
    }
}

/// What a backend and its operators do.
private struct Work: Sendable {
    let backend: TestBackend
    let desk: OperatorDesk
    /// Where the owner of the schema is met.
    let owner: String

    /// Does everything once, for a user of whom nobody has heard, and tells what failed first.
    func failure(of user: String) async throws -> String? {
        for (name, step) in steps(user) {
            do {
                guard try await step() else { return name }
            } catch {
                return "\(name): \(error)"
            }
        }
        return nil
    }

    private func put(_ table: String, _ id: String, _ column: String, _ value: String) -> String {
        #"{"op_id":1,"op":"PUT","table":"\#(table)","id":"\#(id)","data":{"\#(column)":"\#(value)"}}"#
    }

    private func steps(_ user: String) -> [(String, () async throws -> Bool)] {
        let other = "other-" + user
        let body =
            #"{"v":1,"client_id":"c","transactions":[{"crud":[\#(put("lists", user, "name", "good"))]}]}"#
        let orphan = put("todos", "t-" + user, "list_id", "late-" + user)
        return [
            ("an upload", { try await backend.upload(body, user: user).states == ["applied"] }),
            ("its repetition", { try await backend.upload(body, user: user).states == ["replayed"] }),
            ("a batch", { try await apply(put("lists", "b-" + user, "name", "good"), user) == "applied" }),
            (
                "another's row",
                { try await apply(put("lists", user, "name", "mine"), other) == "UNAUTHORIZED" }
            ),
            ("a dead letter", { try await apply(orphan, user) == "FOREIGN_KEY_VIOLATION" }),
            ("a suspect failure", { try await isCounted(user) }),
            ("and again", { try await isCounted(user) }),
            ("a checkpoint", { try await checkpoint(user) == 200 }),
            ("the next checkpoint", { try await checkpoint(user) == 200 }),
            ("letters replay, refused", { try await replay(user) == "refused" }),
            (
                "the missing row",
                { try await apply(put("lists", "late-" + user, "name", "good"), user) == "applied" }
            ),
            ("letters replay, applied", { try await replay(user) == "applied" }),
            (
                "letters discard",
                { await desk.run("letters", "discard", try await letter(of: other)).status == 0 }
            ),
            ("the ledger's memory of an attempt", { try await attempt(user) }),
            ("pruning the ledger", { try await backend.backend.pruneLedger() >= 0 }),
            ("pruning letters", { try await pruneLetters() }),
            ("an attachment", { try await attach(user) }),
            ("clearing up attachments", { try await clearUp() }),
            ("erase", { await desk.run("erase", "--user", user, "--yes").status == 0 }),
            // The last, as a red answer holds for a second, and each right must be missed by somebody who needs it.
            ("the probe", { try await backend.send("GET", "/readyz").status == 200 }),
        ]
    }

    private func apply(_ operation: String, _ user: String) async throws -> String {
        let answer = try await backend.upload("{\"batch\":[\(operation)]}", user: user)
        return answer.errorCodes.first ?? answer.states.first ?? "nothing"
    }

    /// Whether a failure that may be the write's own fault was counted, which is why the client shall come again.
    private func isCounted(_ user: String) async throws -> Bool {
        let operation = put("lists", "s-" + user, "name", "suspect")
        return try await backend.upload("{\"batch\":[\(operation)]}", user: user).status == 503
    }

    private func checkpoint(_ user: String) async throws -> Int {
        let token = try await backend.token(user)
        return try await backend.send(
            "PUT", "/api/data/checkpoint", "{}", fields: ["authorization": "Bearer \(token)"]
        ).status
    }

    private func letter(of user: String) async throws -> String {
        let list = try await desk.run("letters", "list", "--user", user, "--json").json
        return try #require(list["letters"]?.arrayValue?.first?["id"]?.stringValue)
    }

    private func replay(_ user: String) async throws -> String? {
        try await desk.run("letters", "replay", try await letter(of: user), "--json").json["outcome"]?
            .stringValue
    }

    private func attempt(_ user: String) async throws -> Bool {
        let operation = UploadOperation(kind: .delete, table: "lists", id: "none")
        let claim = LedgerClaim(
            [operation], txID: nil, userID: user, clientID: nil,
            attemptID: "00000000-0000-4000-8000-000000000000")
        let connection = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
        let reading = try await LedgerReading(
            claim, reading: connection, until: .now + TestOptions.deadline)
        await connection.close()
        return reading.known.isEmpty
    }

    /// Uploads a file that is never finished, and one that is deleted again.
    private func attach(_ user: String) async throws -> Bool {
        let token = "Bearer \(try await backend.token(user))"
        for id in ["left-" + user, "gone-" + user] {
            let row = #"{"op":"PUT","table":"lists","id":"p-\#(id)","data":{"photo_id":"\#(id)"}}"#
            guard try await apply(row, user) == "applied" else { return false }
            let answer = try await backend.send(
                "POST", "/api/v1/attachments/upload-url", AttachmentsFixture.question(id, [1]).json.text,
                fields: ["authorization": token])
            guard answer.status == 200 else { return false }
        }
        let row = #"{"op":"PATCH","table":"lists","id":"p-gone-\#(user)","data":{"photo_id":null}}"#
        guard try await apply(row, user) == "applied" else { return false }
        return try await backend.send(
            "DELETE", "/api/v1/attachments/gone-\(user)", fields: ["authorization": token]
        ).status == 204
    }

    /// At once, as a day later, and as a month later; what a former try has left goes along.
    private func clearUp() async throws -> Bool {
        let now = backend.clock.withLock { $0 }
        defer { backend.clock.withLock { $0 = now } }
        // As before the first start: who clears up gives database and store a name in common.
        let connection = try await PostgresConnection.connect(owner, poller: backend.poller)
        _ = try await connection.query("DELETE FROM psb.attachment_store")
        await connection.close()
        _ = try await backend.backend.sweepAttachments()
        backend.clock.withLock { $0 += 86_400 }
        let first = try await backend.backend.sweepAttachments()
        backend.clock.withLock { $0 += 31 * 86_400 }
        let second = try await backend.backend.sweepAttachments()
        return (first?.unfinished ?? 0) >= 1 && (second?.forgotten ?? 0) >= 1
    }

    private func pruneLetters() async throws -> Bool {
        let pool = PostgresPool(uri: backend.uri, limits: .patient(size: 1), poller: backend.poller)
        let pruning = DeadLetterPruning(
            policy: DeadLetterPolicy(), pool: pool, poller: backend.poller,
            log: Log(label: "x", sink: { _ in }))
        let count = try await pruning.prune()
        await pool.close()
        return count == 0
    }
}
