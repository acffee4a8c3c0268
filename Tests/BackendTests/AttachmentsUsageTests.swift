import PowerSyncBackend
import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// The sums by which the quota is judged are those of the records, whatever has changed these (backend 10.3).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient(), .namesSeed)
struct AttachmentsUsageTests {
    private static let users = ["alice", "bob"]
    private static let ids = ["a", "b", "c", "d"]

    /// The users whose sums are others than those of their records.
    private static let wrong = """
        SELECT string_agg(owner, ' ') FROM (
            SELECT owner, count(*) FILTER (WHERE state <> 'deleted') AS files,
                count(*) FILTER (WHERE state = 'deleted') AS deleted,
                coalesce(sum(size) FILTER (WHERE state <> 'deleted'), 0) AS bytes
            FROM psb.attachments GROUP BY owner) AS c
        FULL JOIN psb.attachment_usage u USING (owner)
        WHERE (c.files, c.deleted, c.bytes) IS DISTINCT FROM (u.files, u.deleted, u.bytes)
        """

    /// Everything that changes records, several at once.
    @Test func theSumsAreThoseOfTheRecords() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            for user in Self.users {
                for id in Self.ids { try await fixture.note("\(user)-\(id)", of: user, photo: id) }
            }
            var seen: Set<String> = []
            try await forEachSeed(12) { random in
                for _ in 0..<8 {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for _ in 0..<3 {
                            let step = random.below(9)
                            let (user, id) = (random.pick(Self.users), random.pick(Self.ids))
                            let size = 1 + random.below(5)
                            group.addTask { try await Self.take(step, user, id, size, fixture, store) }
                        }
                        try await group.waitForAll()
                    }
                    #expect(try await fixture.backend.scalar(Self.wrong) == nil)
                    for row in try await fixture.backend.query(
                        "SELECT DISTINCT owner || ' ' || state FROM psb.attachments")
                    {
                        seen.formUnion(row.compactMap { $0 })
                    }
                }
            }
            if TestOptions.number("POWERSYNC_SEED", standard: -1) < 0 {
                #expect(seen.isSuperset(of: ["alice ready", "bob ready", "alice deleted", "bob pending"]))
            }
            try await fixture.execute("DELETE FROM psb.attachments")
            #expect(try await fixture.backend.scalar("SELECT count(*) FROM psb.attachment_usage") == "0")
        }
    }

    /// Takes a step of a history; whatever it is answered.
    private static func take(
        _ step: Int, _ user: String, _ id: String, _ size: Int, _ fixture: AttachmentsFixture,
        _ store: ScriptedStore
    ) async throws {
        switch step {
        case 0, 1, 2: _ = try await fixture.upload(id, [UInt8](repeating: 7, count: size), as: user)
        case 3, 4:
            let found = try await fixture.backend.query(
                "SELECT key, size::text FROM psb.attachments WHERE owner = $1::text AND id = $2::text",
                [user, id])
            if let key = found.first?[0], let bytes = found.first?[1].flatMap({ Int64($0) }) {
                store.put(key, size: bytes)
            }
            _ = try await fixture.complete(id, as: user)
        case 5:
            try await fixture.execute("UPDATE notes SET photo_id = NULL WHERE id = '\(user)-\(id)'")
            _ = try await fixture.delete(id, as: user)
            try await fixture.execute("UPDATE notes SET photo_id = '\(id)' WHERE id = '\(user)-\(id)'")
        case 6:
            fixture.pass(20 * 86_400)
            _ = try await fixture.sweep()
        case 7:
            let done = await OperatorDesk(uri: fixture.backend.uri).run("erase", "--user", user, "--yes")
            #expect(done.status == 0, "\(done.errors)")
        default:
            // As an operator hands over files.
            try await fixture.execute(
                """
                UPDATE psb.attachments SET owner = 'carol', id = key, size = size + 1
                WHERE owner = '\(user)' AND id = '\(id)'
                """)
        }
    }

    /// As where data are restored, or an operator has disabled triggers.
    @Test func sumsThatAreWrongAreCountedAnew() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            for user in Self.users {
                for id in Self.ids.map({ "\(user)-\($0)" }) {
                    try await fixture.note(id, of: user, photo: id)
                    try await fixture.keep(id, in: store, as: user)
                }
            }
            fixture.pass(86_400)
            #expect(try await fixture.sweep().recounted == 0)
            try await fixture.execute("ALTER TABLE psb.attachments DISABLE TRIGGER USER")
            try await fixture.execute("DELETE FROM psb.attachments WHERE id = 'alice-a'")
            try await fixture.execute("UPDATE psb.attachments SET owner = 'carol' WHERE owner = 'bob'")
            try await fixture.execute("ALTER TABLE psb.attachments ENABLE TRIGGER USER")
            #expect(try await fixture.backend.scalar(Self.wrong) != nil)
            fixture.pass(600)
            #expect(try await fixture.sweep().recounted == 0, "once a day")
            fixture.pass(86_400)
            #expect(try await fixture.sweep().recounted == 3)
            #expect(try await fixture.backend.scalar(Self.wrong) == nil)
            // By hand, and by who removes everything of a user.
            try await fixture.execute("UPDATE psb.attachment_usage SET files = files + 5")
            try await fixture.execute("SELECT psb.recount_attachments('carol')")
            #expect(try await fixture.backend.scalar(Self.wrong) == "alice")
            let done = await OperatorDesk(uri: fixture.backend.uri).run("erase", "--user", "alice", "--yes")
            #expect(done.status == 0)
            #expect(try await fixture.backend.scalar(Self.wrong) == nil)
        }
    }

    /// What is on its way while a user is counted counts once, whether it commits before or behind that.
    @Test func whatCommitsMeanwhileIsCountedOnce() async throws {
        try await AttachmentsFixture.withScripted { fixture, _ in
            for id in ["a", "b"] {
                try await fixture.note(id, of: "alice", photo: id)
                try #require(try await fixture.upload(id).status == 200)
            }
            try await fixture.execute("UPDATE psb.attachment_usage SET files = 7")
            let backend = fixture.backend
            let holder = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            let counter = try await PostgresConnection.connect(
                backend.uri, parameters: ["application_name": "powersync-backend"], poller: backend.poller)
            try await holder.script("BEGIN; DELETE FROM psb.attachments WHERE id = 'a'")
            async let counted = counter.script("SELECT psb.recount_attachments('alice')")
            try await backend.waitForLocked(1)
            try await holder.script("COMMIT")
            _ = try await counted
            #expect(try await backend.scalar(Self.wrong) == nil)
            // The other way round: what is counted first is added to.
            try await fixture.execute("UPDATE psb.attachment_usage SET files = 7")
            try await holder.script("BEGIN; SELECT psb.recount_attachments('alice')")
            async let changed = counter.script("DELETE FROM psb.attachments WHERE id = 'b'")
            try await backend.waitForLocked(1)
            try await holder.script("COMMIT")
            _ = try await changed
            #expect(try await backend.scalar("SELECT count(*) FROM psb.attachment_usage") == "0")
            await holder.close()
            await counter.close()
        }
    }

    /// One statement about many users and records counts each of them, and one that changes nothing of it leaves the sums alone.
    @Test func aStatementAboutManyCountsAll() async throws {
        try await AttachmentsFixture.withScripted { fixture, _ in
            try await fixture.execute(
                """
                INSERT INTO psb.attachments (key, id, owner, table_schema, table_name, filename, content_type, size, sha256,
                    state, created_at, signed_at, looked_at)
                SELECT 'k' || n, 'i' || n, 'user ' || n % 10, 'public', 'notes', 'f', 'image/png', n, '\\x00'::bytea,
                    CASE n % 3 WHEN 0 THEN 'deleted' WHEN 1 THEN 'ready' ELSE 'pending' END, now(), now(), now()
                FROM generate_series(1, 1000) AS n
                """)
            let sums = "SELECT sum(files) || ' ' || sum(deleted) || ' ' || count(*) FROM psb.attachment_usage"
            #expect(try await fixture.backend.scalar(sums) == "667 333 10")
            #expect(try await fixture.backend.scalar(Self.wrong) == nil)
            let versions = "SELECT string_agg(xmin::text, ' ' ORDER BY owner) FROM psb.attachment_usage"
            let before = try await fixture.backend.scalar(versions)
            try await fixture.execute("UPDATE psb.attachments SET state = 'ready' WHERE state = 'pending'")
            #expect(try await fixture.backend.scalar(versions) == before)
            try await fixture.execute("UPDATE psb.attachments SET state = 'deleted' WHERE size <= 500")
            #expect(try await fixture.backend.scalar(Self.wrong) == nil)
            try await fixture.execute("DELETE FROM psb.attachments WHERE owner = 'user 3'")
            #expect(try await fixture.backend.scalar("SELECT count(*) FROM psb.attachment_usage") == "9")
            #expect(try await fixture.backend.scalar(Self.wrong) == nil)
            try await fixture.execute("TRUNCATE psb.attachments")
            #expect(try await fixture.backend.scalar("SELECT count(*) FROM psb.attachment_usage") == "0")
        }
    }
}
