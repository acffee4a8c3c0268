import PowerSyncBackend
import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Several questions about attachments in one request: one transaction, and each answered as alone (backend 10.2).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct AttachmentsBatchTests {
    /// What a batch is answered: the lists, each with the kind of what it has.
    private struct Answers {
        var upload: [String]
        var complete: [String]
        var download: [String]

        init(_ json: JSON) {
            func kinds(_ name: String) -> [String] {
                (json[name]?.arrayValue ?? []).map { item in
                    if let slug = item["type"]?.stringValue?.split(separator: ":").last {
                        return "\(item["status"]?.int64Value ?? 0) \(slug)"
                    }
                    if ["uploadUrl", "multipart", "downloadUrl"].contains(where: { item[$0] != nil }) {
                        return "url"
                    }
                    if item["alreadyUploaded"] == .bool(true) { return "there" }
                    return item == .object([]) ? "done" : "nothing"
                }
            }
            (upload, complete, download) = (kinds("upload"), kinds("complete"), kinds("download"))
        }
    }

    private func batch(
        _ fixture: AttachmentsFixture, upload: [AttachmentUploadRequest] = [], complete: [JSON] = [],
        download: [String] = [], as user: String = "alice"
    ) async throws -> Answers {
        let body = JSON.object([
            JSONMember("upload", .array(upload.map(\.json))), JSONMember("complete", .array(complete)),
            JSONMember("download", .array(download.map { .string($0) })),
        ])
        let answer = try await fixture.send("POST", "/batch", body.text, as: user)
        try #require(answer.status == 200, "\(answer.json.text)")
        return Answers(answer.json)
    }

    private static func questions(_ ids: [String]) -> [AttachmentUploadRequest] {
        ids.map { AttachmentsFixture.question($0, [1, 2, 3]) }
    }

    private static let ids = (0..<20).map { "a\($0)" }

    // MARK: One transaction

    /// The version of a row is that of the transaction that wrote it.
    @Test func theItemsOfABatchAreOneTransaction() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            for id in Self.ids { try await fixture.note(id, of: "alice", photo: id) }
            let versions = "SELECT count(*) || ' ' || count(DISTINCT xmin::text) FROM psb.attachments"
            var answers = try await batch(fixture, upload: Self.questions(Self.ids))
            #expect(answers.upload == Array(repeating: "url", count: 20))
            #expect(try await fixture.backend.scalar(versions) == "20 1")
            fixture.pass(1)
            answers = try await batch(fixture, upload: Self.questions(Self.ids))
            #expect(answers.upload == Array(repeating: "url", count: 20))
            #expect(try await fixture.backend.scalar(versions) == "20 1", "signed once more")
            for id in Self.ids { store.put(try await fixture.key(id), size: 3) }
            answers = try await batch(fixture, complete: Self.ids.map { .string($0) }, download: Self.ids)
            #expect(answers.complete == Array(repeating: "done", count: 20))
            #expect(
                answers.download == Array(repeating: "url", count: 20),
                "what is completed here may be had here")
            #expect(try await fixture.backend.scalar(versions) == "20 1")
            #expect(
                try await fixture.backend.scalar("SELECT min(state) || max(state) FROM psb.attachments")
                    == "readyready")
        }
    }

    /// Nobody waits for the store with a connection, or with a lock.
    @Test func theStoreIsAskedForSeveralOutsideOfATransaction() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            for id in Self.ids { try await fixture.note(id, of: "alice", photo: id) }
            _ = try await batch(fixture, upload: Self.questions(Self.ids))
            for id in Self.ids { store.put(try await fixture.key(id), size: 3) }
            let gate = Gate()
            store.state.withLock { state in
                state.onCall = { call in
                    guard call == .head else { return }
                    await gate.pass()
                }
            }
            async let answers = batch(fixture, complete: Self.ids.map { .string($0) })
            try await wait(for: "several calls of the store") { gate.arrivals == 8 }
            let open = """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'
                """
            #expect(try await fixture.backend.scalar(open) == "0")
            gate.open()
            #expect(try await answers.complete == Array(repeating: "done", count: 20))
            #expect(gate.arrivals == 20)
        }
    }

    // MARK: Each as alone

    @Test func eachCompletionIsAnsweredAsAlone() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            for id in ["ready", "whole", "absent", "deleted", "parts", "some"] {
                try await fixture.note(id, of: "alice", photo: id)
            }
            try await fixture.note("his", of: "bob", photo: "his")
            try await fixture.keep("ready", in: store)
            for id in ["whole", "absent", "deleted"] {
                try #require(try await fixture.upload(id).status == 200)
            }
            try #require(try await fixture.upload("his", as: "bob").status == 200)
            for (id, parts) in [("parts", 2), ("some", 1)] {
                let question = AttachmentsFixture.question(id, [], size: AttachmentPart.size + 5)
                try #require(try await fixture.upload(question).status == 200)
                let upload = try #require(try await fixture.record(id, "upload"))
                for number in 1...parts {
                    store.putPart(number, size: number == 1 ? AttachmentPart.size : 5, of: upload)
                }
            }
            store.put(try await fixture.key("whole"), size: 3)
            try await fixture.execute("UPDATE notes SET photo_id = NULL WHERE id = 'deleted'")
            try #require(try await fixture.delete("deleted").status == 204)
            let ids = ["ready", "whole", "absent", "deleted", "parts", "some", "his", "never", "whole"]
            let expected = [
                "done", "done", "409 not-stored", "410 gone", "done", "409 not-stored", "404 unknown",
                "404 unknown",
                "done",
            ]
            let answers = try await batch(
                fixture, complete: ids.map { .string($0) } + [.integer(7), .string(""), .string("a\0")])
            #expect(answers.complete == expected + Array(repeating: "400 invalid-request", count: 3))
            #expect(try await fixture.record("whole", "state") == "ready")
            #expect(try await fixture.record("his", "state") == "pending")
            // Alone nothing is otherwise.
            for (id, verdict) in zip(ids, expected) {
                #expect(
                    try await fixture.complete(id).verdict == (verdict == "done" ? "204" : verdict), "\(id)")
            }
        }
    }

    /// A disk that makes a file of its parts stops for nobody: one is waited for, and none begins behind the time.
    @Test func noUploadIsCompletedBehindTheTimeOfTheRequest() async throws {
        try await AttachmentsFixture.withScripted({ $0.uploadTimes.request = TestOptions.standstill }) {
            fixture, store in
            for id in ["a", "b"] {
                try await fixture.note(id, of: "alice", photo: id)
                let question = AttachmentsFixture.question(id, [], size: AttachmentPart.size + 5)
                try #require(try await fixture.upload(question).status == 200)
                let upload = try #require(try await fixture.record(id, "upload"))
                store.putPart(1, size: AttachmentPart.size, of: upload)
                store.putPart(2, size: 5, of: upload)
            }
            let gate = Gate()
            store.state.withLock { state in
                state.isDeaf = true
                state.onCall = { call in
                    guard call == .completeMultipart else { return }
                    await withTaskCancellationHandler {
                        await gate.pass()
                    } onCancel: {
                        gate.open()
                    }
                }
            }
            let answers = try await batch(fixture, complete: [.string("a"), .string("b")])
            #expect(answers.complete == ["done", "503 overloaded"])
            #expect(store.count(.completeMultipart) == 1)
            #expect(try await fixture.record("b", "state") == "pending")
        }
    }

    /// What one condition says to one row is the trouble of nobody else.
    @Test func aConditionThatFailsIsTroubleOfItsItemAlone() async throws {
        let map = AttachmentsFixture.map.replacing(
            "friend = :sub", with: "1 / length(friend) > 0 AND friend = 'b'")
        try await AttachmentsFixture.withScripted(map: map) { fixture, store in
            try await fixture.note("n1", of: "alice", photo: "open", friend: "b")
            try await fixture.note("n2", of: "alice", photo: "broken", friend: "")
            try await fixture.note("n3", of: "bob", photo: "own", friend: "")
            for id in ["open", "broken"] { try await fixture.keep(id, in: store) }
            try await fixture.keep("own", in: store, as: "bob")
            let ids = ["own", "broken", "open", "never"]
            let answers = try await batch(fixture, download: ids, as: "bob")
            #expect(answers.download == ["url", "503 database-unavailable", "url", "404 unknown"])
            for (id, verdict) in zip(ids, ["200", "503 database-unavailable", "200", "404 unknown"]) {
                #expect(try await fixture.download(id, as: "bob").verdict == verdict, "\(id)")
            }
        }
    }

    /// What the database as a whole cannot do is not tried again with each.
    @Test(arguments: [
        ("25006", "503 database-unavailable"), ("53100", "503 overloaded"),
        ("58030", "503 database-unavailable"),
    ])
    func whatIsNotTheTroubleOfOneIsTriedOnce(state: String, verdict: String) async throws {
        let schema =
            AttachmentsFixture.schema + """
                CREATE SEQUENCE tries;
                CREATE FUNCTION fail() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
                    PERFORM nextval('tries');
                    RAISE EXCEPTION 'x' USING ERRCODE = '\(state)';
                END $$;
                """
        let map = AttachmentsFixture.map.replacing("friend = :sub", with: "fail()")
        try await AttachmentsFixture.withScripted(schema: schema, map: map) { fixture, _ in
            for id in Self.ids { try await fixture.note(id, of: "alice", photo: id) }
            let answers = try await batch(fixture, download: Self.ids, as: "bob")
            #expect(answers.download == Array(repeating: verdict, count: 20))
            #expect(try await fixture.backend.scalar("SELECT last_value FROM tries") == "1")
        }
    }

    @Test func theQuotaIsUsedUpInTheOrderOfTheItems() async throws {
        try await AttachmentsFixture.withScripted({ $0.attachments?.policy.userFiles = 3 }) { fixture, _ in
            for id in Self.ids.prefix(5) { try await fixture.note(id, of: "alice", photo: id) }
            try #require(try await fixture.upload(Self.ids[4], [1, 2, 3]).status == 200)
            let answers = try await batch(fixture, upload: Self.questions(Array(Self.ids.prefix(5))))
            #expect(answers.upload == ["url", "url", "429 quota-exceeded", "429 quota-exceeded", "url"])
            #expect(try await fixture.backend.scalar("SELECT count(*) FROM psb.attachments") == "3")
        }
        try await AttachmentsFixture.withScripted({ $0.attachments?.policy.userBytes = 7 }) { fixture, _ in
            for id in Self.ids.prefix(4) { try await fixture.note(id, of: "alice", photo: id) }
            var questions = Self.questions(Array(Self.ids.prefix(4)))
            questions[3].size = 1
            let answers = try await batch(fixture, upload: questions)
            #expect(answers.upload == ["url", "url", "429 quota-exceeded", "url"])
        }
    }

    @Test func theSecondQuestionAboutAnIdFindsWhatTheFirstHasMade() async throws {
        try await AttachmentsFixture.withScripted { fixture, _ in
            for id in ["a", "b"] { try await fixture.note(id, of: "alice", photo: id) }
            let answers = try await batch(
                fixture,
                upload: [
                    AttachmentsFixture.question("a", [1]), AttachmentsFixture.question("a", [2]),
                    AttachmentsFixture.question("b", [1]), AttachmentsFixture.question("a", [1]),
                ])
            #expect(answers.upload == ["url", "409 conflict", "url", "url"])
            #expect(try await fixture.backend.scalar("SELECT count(*) FROM psb.attachments") == "2")
        }
    }

    /// A call of a bucket is paid for.
    @Test func theStoreIsAskedOnceForWhatStandsTwice() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            for id in ["a", "b"] {
                try await fixture.note(id, of: "alice", photo: id)
                try #require(try await fixture.upload(id).status == 200)
            }
            var ids = Array(repeating: "a", count: 20)
            ids[7] = "b"
            let missing = Array(repeating: "409 not-stored", count: 20)
            #expect(try await batch(fixture, complete: ids.map { .string($0) }).complete == missing)
            #expect(store.count(.head) == 2)
            store.put(try await fixture.key("a"), size: 3)
            var expected = Array(repeating: "url", count: 20)
            expected[7] = "404 not-uploaded"
            #expect(try await batch(fixture, download: ids).download == expected)
            #expect(store.count(.head) == 4)
        }
    }

    /// A table that is everybody's, one with an owner, and a row that is named, in one question each.
    @Test func rowsOfSeveralTablesAndColumnsAreFoundForEach() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            let cover = "0b1c8a52-0000-4000-8000-000000000001"
            try await fixture.note("n", of: "alice", photo: "a", cover: cover)
            try await fixture.note("m", of: "alice", photo: "a")
            try await fixture.execute("INSERT INTO walls VALUES ('w', 'a'), ('v', 'b')")
            try await fixture.execute("INSERT INTO boards VALUES ('c', 'c', true), ('d', 'd', false)")
            var named = AttachmentsFixture.question("a", [1], row: ("notes", "m"))
            let others = [cover, "b", "c", "d", cover.uppercased()].map {
                AttachmentsFixture.question($0, [1])
            }
            let answers = try await batch(fixture, upload: [named] + others)
            #expect(answers.upload == ["url", "url", "url", "url", "404 unknown", "404 unknown"])
            let rows = try await fixture.backend.query(
                "SELECT id, table_name, row_id, is_shared::text FROM psb.attachments ORDER BY table_name, row_id"
            )
            #expect(
                rows == [
                    ["c", "boards", "c", "true"], ["a", "notes", "m", "false"],
                    [cover, "notes", "n", "false"],
                    ["b", "walls", "v", "true"],
                ])
            // Others read what is everybody's, and wait for it.
            named = AttachmentsFixture.question("c", [1])
            let his = try await batch(fixture, upload: [named], download: ["a", "b", "c", cover], as: "bob")
            #expect(his.upload == ["409 not-stored"])
            #expect(his.download == ["404 unknown", "404 not-uploaded", "404 not-uploaded", "404 unknown"])
            store.put(try await fixture.key("b"), size: 1)
            #expect(try await batch(fixture, download: ["b"], as: "bob").download == ["url"])
        }
    }

    /// Whatever a table is called, the statement about it means that table.
    @Test(arguments: ["asked", "m", "u", "place"])
    func noNameOfATableIsTakenForAnother(name: String) async throws {
        let schema = "CREATE TABLE \(name) (place text PRIMARY KEY, owner text, id0 text, preferred text)"
        let map =
            "tables: { \(name): { id: place, owner: owner, attachments: [id0], read: \"preferred = :sub\" } }"
        try await AttachmentsFixture.withScripted(schema: schema, map: map) { fixture, store in
            try await fixture.execute(
                "INSERT INTO \(name) VALUES ('1', 'alice', 'a', 'bob'), ('2', 'bob', 'b', NULL)")
            let answers = try await batch(
                fixture,
                upload: [
                    AttachmentsFixture.question("a", [1, 2, 3], row: (name, "1")),
                    AttachmentsFixture.question("b", [1]),
                ])
            #expect(answers.upload == ["url", "404 unknown"])
            store.put(try await fixture.key("a"), size: 3)
            #expect(try await fixture.complete("a").status == 204)
            #expect(try await batch(fixture, download: ["a", "b"]).download == ["url", "404 unknown"])
            #expect(try await fixture.download("a", as: "bob", "?table=\(name)&rowId=1").status == 200)
            #expect(
                try await fixture.download("a", as: "bob", "?table=\(name)&rowId=2").verdict == "404 unknown")
            #expect(try await fixture.download("a", as: "carol").verdict == "404 unknown")
        }
    }

    /// What a condition names and the table has lost is looked for nowhere else in the statement.
    @Test(arguments: ["place", "id0", "preferred", "asked"])
    func aConditionThatHasLostItsColumnLetsNobodyRead(name: String) async throws {
        let schema = "CREATE TABLE notes (id text PRIMARY KEY, owner text, photo text, \(name) text)"
        let map =
            "tables: { notes: { owner: owner, attachments: [photo], read: \"\(name)::text <> 'private'\" } }"
        try await AttachmentsFixture.withScripted(schema: schema, map: map) { fixture, store in
            try await fixture.execute("INSERT INTO notes VALUES ('n', 'alice', 'a', 'private')")
            try await fixture.keep("a", in: store)
            let row = "?table=notes&rowId=n"
            #expect(try await fixture.download("a", as: "bob", row).verdict == "404 unknown")
            try await fixture.execute("ALTER TABLE notes RENAME \(name) TO elsewhere")
            #expect(try await fixture.download("a", as: "bob", row).verdict == "503 database-unavailable")
            #expect(try await fixture.download("a", as: "bob").verdict == "503 database-unavailable")
            let answers = try await batch(fixture, download: ["a"], as: "bob")
            #expect(answers.download == ["503 database-unavailable"])
            #expect(try await fixture.download("a").status == 200)
        }
    }

    /// Batches of two users about the same files of everybody, in another order each: one uploads each, nobody fails.
    @Test func batchesAtOnceDoNotHoldUpEachOther() async throws {
        try await AttachmentsFixture.withScripted { fixture, _ in
            for round in 0..<5 {
                let ids = Self.ids.map { "\(round)-\($0)" }
                for id in ids { try await fixture.execute("INSERT INTO walls VALUES ('\(id)', '\(id)')") }
                async let hers = batch(fixture, upload: Self.questions(ids))
                async let his = batch(fixture, upload: Self.questions(ids.reversed()), as: "bob")
                let answers = try await (hers.upload, Array(his.upload.reversed()))
                for (left, right) in zip(answers.0, answers.1) {
                    #expect(Set([left, right]) == ["url", "409 not-stored"])
                }
            }
            #expect(try await fixture.backend.scalar("SELECT count(*) FROM psb.attachments") == "100")
            // What ends a deadlock is answered one by one.
            let lines = fixture.backend.lines.withLock { $0 }
            #expect(!lines.contains { $0.contains("answered one by one") })
        }
    }

    /// Who waits for a record has none of those that come behind it in hand, so no two wait for each other.
    @Test func recordsAreHeldInTheOrderOfTheirKeys() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            for id in Self.ids { try await fixture.note(id, of: "alice", photo: id) }
            _ = try await batch(fixture, upload: Self.questions(Self.ids))
            for id in Self.ids { store.put(try await fixture.key(id), size: 3) }
            let first = "SELECT key FROM psb.attachments ORDER BY key LIMIT 1 FOR UPDATE"
            let free = "SELECT count(*) FROM (SELECT key FROM psb.attachments FOR UPDATE SKIP LOCKED) AS f"
            let holder = try await PostgresConnection.connect(
                fixture.backend.uri, poller: fixture.backend.poller)
            try await holder.script("BEGIN; \(first)")
            async let signed = batch(fixture, upload: Self.questions(Self.ids))
            try await fixture.backend.waitForLocked(1)
            #expect(try await fixture.backend.scalar(free) == "19")
            try await holder.script("COMMIT")
            #expect(try await signed.upload == Array(repeating: "there", count: 20))
            try await fixture.execute("UPDATE psb.attachments SET state = 'pending'")
            try await holder.script("BEGIN; \(first)")
            async let completed = batch(fixture, complete: Self.ids.map { .string($0) })
            try await fixture.backend.waitForLocked(1)
            #expect(try await fixture.backend.scalar(free) == "19")
            try await holder.script("COMMIT")
            #expect(try await completed.complete == Array(repeating: "done", count: 20))
            await holder.close()
        }
    }

    /// That a row names what nobody seemed to name is noted by whoever has the record in hand.
    @Test func nobodyWaitsToNoteThatAFileIsNamed() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.execute("INSERT INTO walls VALUES ('w', 'a')")
            try await fixture.keep("a", in: store)
            try await fixture.execute("UPDATE psb.attachments SET unnamed_since = now()")
            let holder = try await PostgresConnection.connect(
                fixture.backend.uri, poller: fixture.backend.poller)
            try await holder.script("BEGIN; SELECT key FROM psb.attachments FOR UPDATE")
            let answers = try await batch(
                fixture, upload: Self.questions(["a"]), download: ["a"], as: "bob")
            #expect(answers.upload == ["there"])
            #expect(answers.download == ["url"])
            try await holder.script("COMMIT")
            #expect(try await fixture.download("a", as: "bob").status == 200)
            #expect(try await fixture.record("a", "unnamed_since") == nil)
            await holder.close()
        }
    }

    /// One that somebody else shares in that moment is no trouble of the others.
    @Test func filesThatAreSharedTogetherAreAnsweredAsAlone() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            for id in ["a", "b", "c"] {
                try await fixture.note(id, of: "alice", photo: id)
                try await fixture.keep(id, in: store)
                try await fixture.execute("INSERT INTO walls VALUES ('\(id)', '\(id)')")
            }
            try await fixture.execute("DELETE FROM notes")
            let holder = try await PostgresConnection.connect(
                fixture.backend.uri, poller: fixture.backend.poller)
            try await holder.script(
                """
                BEGIN; INSERT INTO psb.attachments (key, id, owner, is_shared, table_schema, table_name, row_id, filename,
                    content_type, size, sha256, state, created_at, signed_at, looked_at)
                VALUES ('k', 'b', 'bob', true, 'public', 'walls', 'b', 'f', 'image/png', 3, '\\x00', 'pending', now(), now(),
                    now())
                """)
            async let answers = batch(fixture, upload: Self.questions(["a", "b", "c"]))
            try await fixture.backend.waitForLocked(1)
            try await holder.script("COMMIT")
            #expect(try await answers.upload == ["there", "409 not-stored", "there"])
            let shared =
                "SELECT string_agg(id || owner, ' ' ORDER BY id) FROM psb.attachments WHERE is_shared"
            #expect(try await fixture.backend.scalar(shared) == "aalice bbob calice")
            await holder.close()
        }
    }
}
