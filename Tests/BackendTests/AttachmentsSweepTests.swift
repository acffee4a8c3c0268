import PowerSyncBackend
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What is cleared up, and when, by the clock of the test (Backend/Attachments/SPEC.md, Clearing up).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct AttachmentsSweepTests {
    private static let day = 86_400.0

    private func keys(_ fixture: AttachmentsFixture) async throws -> [String] {
        try await fixture.backend.query("SELECT key FROM psb.attachment_removals ORDER BY key").compactMap {
            $0[0]
        }
    }

    // MARK: Unfinished uploads

    @Test func anUploadThatIsNeverFinishedIsForgottenAfterADay() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try #require(try await fixture.upload("a").status == 200)
            let key = try await fixture.key("a")
            fixture.pass(Self.day - 1)
            #expect(try await fixture.sweep() == AttachmentSweep.Outcome())
            #expect(try await fixture.record("a", "state") == "pending")
            fixture.pass(1)
            let outcome = try await fixture.sweep()
            #expect(outcome.unfinished == 1 && outcome.removed == 1)
            #expect(try await fixture.record("a", "state") == nil)
            #expect(store.count(.delete) == 1)
            // A device that comes back begins anew, and has the room again.
            #expect(try await fixture.upload("a", [9]).status == 200)
            #expect(try await fixture.key("a") != key)
        }
    }

    /// Each URL is a sign of life.
    @Test func whoeverAsksForURLsIsNotCutShort() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try await fixture.note("m", of: "alice", photo: "b")
            let large = AttachmentsFixture.question("b", [], size: AttachmentPart.size)
            try #require(try await fixture.upload("a").status == 200)
            try #require(try await fixture.upload(large).status == 200)
            for _ in 0..<3 {
                fixture.pass(Self.day - 1)
                #expect(try await fixture.upload("a").status == 200)
                #expect(try await fixture.parts("b", [1]).status == 200)
                fixture.pass(Self.day - 1)
                #expect(try await fixture.upload("a").status == 200)
                #expect(try await fixture.upload(large).status == 200)
                #expect(try await fixture.sweep().unfinished == 0)
            }
            fixture.pass(Self.day)
            #expect(try await fixture.sweep().unfinished == 2)
            #expect(store.state.withLock { $0.uploads.isEmpty }, "its parts are gone, too")
        }
    }

    /// Whoever uploaded it may never come back to say so.
    @Test func anUploadThatIsThereWholeIsKept() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a", friend: "carol")
            try #require(try await fixture.upload("a").status == 200)
            store.put(try await fixture.key("a"), size: 3)
            fixture.pass(Self.day)
            let outcome = try await fixture.sweep()
            #expect(outcome.finished == 1 && outcome.unfinished == 0)
            #expect(try await fixture.download("a", as: "carol").status == 200)
        }
    }

    // MARK: Attachments that no row names

    @Test func whatNoRowNamesForThirtyDaysIsDeleted() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            for id in ["a", "b"] {
                try await fixture.note(id, of: "alice", photo: id)
                try await fixture.keep(id, in: store)
            }
            try await fixture.execute("DELETE FROM notes WHERE id = 'a'")
            #expect(try await fixture.sweep() == AttachmentSweep.Outcome(), "looked at once a day")
            #expect(try await fixture.record("a", "unnamed_since IS NULL") == "true")
            fixture.pass(Self.day)
            _ = try await fixture.sweep()
            #expect(try await fixture.record("a", "unnamed_since IS NULL") == "false")
            fixture.pass(30 * Self.day - 1)
            #expect(try await fixture.sweep().unnamed == 0)
            fixture.pass(Self.day)
            let outcome = try await fixture.sweep()
            #expect(outcome.unnamed == 1 && outcome.removed == 1)
            #expect(try await fixture.record("a", "state") == "deleted")
            #expect(try await fixture.record("b", "state") == "ready")
            #expect(store.keys == [try await fixture.key("b")])
        }
    }

    /// Thirty days in a row.
    @Test func aRowThatComesBackBeginsTheTimeAnew() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try await fixture.keep("a", in: store)
            func days(_ count: Int) async throws {
                for _ in 0..<count {
                    fixture.pass(Self.day)
                    _ = try await fixture.sweep()
                }
            }
            try await fixture.execute("UPDATE notes SET photo_id = NULL")
            try await days(29)
            try await fixture.execute("UPDATE notes SET photo_id = 'a'")
            try await days(1)
            #expect(try await fixture.record("a", "unnamed_since IS NULL") == "true")
            try await fixture.execute("UPDATE notes SET photo_id = NULL")
            try await days(29)
            // Whoever asks for it has a row that names it, whenever somebody looks.
            try await fixture.execute("UPDATE notes SET photo_id = 'a'")
            #expect(try await fixture.download("a").status == 200)
            try await fixture.execute("UPDATE notes SET photo_id = NULL")
            try await days(30)
            #expect(try await fixture.record("a", "state") == "ready")
            try await days(1)
            #expect(try await fixture.record("a", "state") == "deleted")
        }
    }

    /// Whosever it is, and whatever it is a way to: a file that was moved there may come back.
    @Test func whatAnyRowNamesIsKept() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            for id in ["a", "b", "c"] {
                try await fixture.note(id, of: "alice", photo: id)
                try await fixture.keep(id, in: store)
            }
            try await fixture.execute("UPDATE notes SET owner_id = 'bob' WHERE id = 'a'")
            try await fixture.execute("UPDATE notes SET photo_id = NULL WHERE id IN ('b', 'c')")
            try await fixture.execute("INSERT INTO boards VALUES ('b', 'b', false)")
            for _ in 0..<32 {
                fixture.pass(Self.day)
                _ = try await fixture.sweep()
            }
            #expect(try await fixture.record("a", "state") == "ready")
            #expect(try await fixture.record("b", "state") == "ready")
            #expect(try await fixture.record("c", "state") == "deleted")
        }
    }

    @Test func manyAreLookedAtInBatches() async throws {
        try await AttachmentsFixture.withScripted { fixture, _ in
            try await fixture.execute(
                "INSERT INTO notes SELECT 'n' || n, 'alice', 'a' || n FROM generate_series(1, 1200) AS n")
            try await fixture.execute(
                """
                INSERT INTO psb.attachments (id, key, owner, table_schema, table_name, row_id, filename, content_type, size,
                    sha256, state, created_at, signed_at, looked_at)
                SELECT 'a' || n, 'k' || n, 'alice', 'public', 'notes', 'n' || n, '', 'image/png', 1, ''::bytea, 'ready',
                    to_timestamp(1700000000), to_timestamp(1700000000), to_timestamp(1700000000)
                FROM generate_series(1, 1200) AS n
                """)
            try await fixture.execute("DELETE FROM notes WHERE id IN ('n7', 'n1100')")
            _ = try await fixture.sweep()
            #expect(
                try await fixture.backend.query(
                    "SELECT id FROM psb.attachments WHERE unnamed_since IS NOT NULL ORDER BY id") == [
                        ["a1100"], ["a7"],
                    ])
            #expect(
                try await fixture.backend.scalar(
                    "SELECT count(*) FROM psb.attachments WHERE looked_at = to_timestamp(1800000000)")
                    == "1200")
        }
    }

    // MARK: What is not known

    /// Rows that nobody sees now may be there.
    @Test func whatCannotBeSeenIsNotTakenForGone() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.execute("INSERT INTO walls VALUES ('w', 'a')")
            try await fixture.keep("a", in: store)
            try await fixture.execute("ALTER TABLE walls RENAME COLUMN picture_id TO former")
            for _ in 0..<32 {
                fixture.pass(Self.day)
                #expect(try await fixture.sweep().unnamed == 0)
            }
            try await fixture.execute("ALTER TABLE walls RENAME COLUMN former TO picture_id")
            fixture.pass(Self.day)
            #expect(try await fixture.sweep().unnamed == 0)
            // 503 until the backend has seen that the column is back.
            try await wait(
                for: "the download", read: { try await fixture.download("a").status }, until: { $0 == 200 })
        }
    }

    /// A map that names the table no more, or none at all, says nothing about its rows.
    @Test func aTableThatIsInNoMapIsLeftAlone() async throws {
        var uri = ""
        try await AttachmentsFixture.withScripted { fixture, store in
            uri = fixture.backend.uri
            try await fixture.execute("INSERT INTO walls VALUES ('w', 'a')")
            try await fixture.keep("a", in: store)
        }
        for map in [
            "tables: { notes: { owner: owner_id, attachments: [photo_id] } }", "tables: { walls: }",
        ] {
            try await AttachmentsFixture.withScripted(schema: "SELECT 1", map: map, uri: uri) { fixture, _ in
                for _ in 0..<32 {
                    fixture.pass(Self.day)
                    let swept = try await fixture.sweep()
                    #expect(swept.unnamed == 0)
                }
                let state = try await fixture.record("a", "state")
                #expect(state == "ready")
            }
        }
    }

    /// Row security keeps rows from whoever clears up, who is nobody.
    @Test func rowsThatPoliciesHideAreNotTakenForGone() async throws {
        let tables = """
            CREATE TABLE notes (id text PRIMARY KEY, photo_id text, reader text);
            ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
            CREATE POLICY p ON notes USING (reader = current_setting('app.user_id', true));
            INSERT INTO notes VALUES ('n', 'a', 'alice');
            """
        try await TwoRoles.with(tables: tables) { two in
            try await two.migrate { $0.roles = [two.backendRole] }
            try await AttachmentsFixture.withScripted(
                schema: "SELECT 1", map: "tables: { notes: { owner: reader, attachments: [photo_id] } }",
                uri: two.backend
            ) { fixture, store in
                try await fixture.keep("a", in: store)
                for _ in 0..<32 {
                    fixture.pass(Self.day)
                    #expect(try await fixture.sweep().unnamed == 0)
                }
                #expect(try await fixture.download("a").status == 200)
            }
        }
    }

    /// And so may a view, whose owner no policy is for.
    @Test func rowsThatAViewHidesAreNotTakenForGone() async throws {
        let schema =
            AttachmentsFixture.schema
            + "CREATE VIEW my_notes AS SELECT * FROM notes WHERE owner_id = current_setting('app.user_id', true);"
        let map = "tables: { my_notes: { ops: [PATCH], owner: owner_id, attachments: [photo_id] } }"
        try await AttachmentsFixture.withScripted(schema: schema, map: map) { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try await fixture.keep("a", in: store)
            for _ in 0..<32 {
                fixture.pass(Self.day)
                #expect(try await fixture.sweep().unnamed == 0)
            }
            #expect(try await fixture.download("a").status == 200)
        }
    }

    /// Nothing is cleared up before somebody has seen to it, so he must know where.
    @Test func aTableThatCannotBeLookedThroughIsTold() async throws {
        let tables = """
            CREATE TABLE notes (id text PRIMARY KEY, photo_id text, owner_id text);
            CREATE TABLE walls (id text PRIMARY KEY, picture_id text);
            INSERT INTO notes VALUES ('n', 'a', 'alice');
            """
        let map = """
            tables:
              notes: { owner: owner_id, attachments: [photo_id] }
              walls: { attachments: [picture_id] }
            """
        try await TwoRoles.with(tables: tables) { two in
            try await two.migrate { $0.roles = [two.backendRole] }
            try await AttachmentsFixture.withScripted(schema: "SELECT 1", map: map, uri: two.backend) {
                fixture, store in
                try await fixture.keep("a", in: store)
                try await two.asOwner("REVOKE SELECT ON walls FROM \(two.backendRole)")
                fixture.pass(Self.day)
                await #expect(throws: PostgresError.self) { try await fixture.sweep() }
                let told = fixture.backend.lines.withLock { lines in
                    lines.filter { $0.contains("cannot be looked through") }
                }
                #expect(told.count == 1 && told[0].contains("WARNING"), "\(told)")
                #expect(told.last?.contains("public.walls") == true && told.last?.contains("notes") == false)
            }
        }
    }

    /// Whoever looks through large tables holds up nobody, and decides nothing that has changed meanwhile.
    @Test func lookingAtRowsLocksNoRecord() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try await fixture.keep("a", in: store)
            try await fixture.execute("UPDATE notes SET photo_id = NULL")
            fixture.pass(Self.day)
            _ = try await fixture.sweep()
            #expect(try await fixture.record("a", "unnamed_since IS NULL") == "false")
            fixture.pass(31 * Self.day)
            let holder = try await PostgresConnection.connect(
                fixture.backend.uri, poller: fixture.backend.poller)
            try await holder.script("BEGIN; LOCK TABLE notes IN ACCESS EXCLUSIVE MODE")
            async let sweep = fixture.sweep()
            try await fixture.backend.waitForLocked(1)
            let free = "SELECT id FROM psb.attachments WHERE id = 'a' FOR UPDATE NOWAIT"
            #expect(try await fixture.backend.scalar(free) == "a")
            // Another backend has looked, and seen a row that names it.
            try await fixture.execute(
                "UPDATE psb.attachments SET unnamed_since = NULL, looked_at = looked_at + interval '1 day'")
            try await holder.script("COMMIT")
            let outcome = try await sweep
            #expect(outcome.unnamed == 0)
            #expect(
                try await fixture.record("a", "unnamed_since IS NULL") == "true",
                "what was seen before is old")
            await holder.close()
        }
    }

    /// Of what is about to be deleted the rows are looked at once more, when nothing is waited for any longer.
    @Test func aRowThatComesMeanwhileKeepsItsFile() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try await fixture.keep("a", in: store)
            try await fixture.execute("UPDATE notes SET photo_id = NULL")
            fixture.pass(Self.day)
            _ = try await fixture.sweep()
            #expect(try await fixture.record("a", "unnamed_since IS NULL") == "false")
            fixture.pass(31 * Self.day)
            let holder = try await PostgresConnection.connect(
                fixture.backend.uri, poller: fixture.backend.poller)
            try await holder.script("BEGIN; SELECT 1 FROM psb.attachments WHERE id = 'a' FOR UPDATE")
            async let sweep = fixture.sweep()
            // It has looked, and wants to note what it has seen.
            try await fixture.backend.waitForLocked(1)
            try await fixture.execute("UPDATE notes SET photo_id = 'a'")
            try await holder.script("COMMIT")
            let outcome = try await sweep
            #expect(outcome.unnamed == 0 && store.keys.count == 1)
            #expect(try await fixture.record("a", "state") == "ready")
            #expect(try await fixture.record("a", "unnamed_since IS NULL") == "true", "the time begins anew")
            await holder.close()
        }
    }

    // MARK: Deleted ids and keys

    @Test func aDeletedIdIsKeptForThirtyDays() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try await fixture.keep("a", in: store)
            try await fixture.execute("UPDATE notes SET photo_id = NULL")
            #expect(try await fixture.delete("a").status == 204)
            try await fixture.execute("UPDATE notes SET photo_id = 'a'")
            fixture.pass(30 * Self.day - 1)
            #expect(try await fixture.sweep().forgotten == 0)
            #expect(try await fixture.upload("a").verdict == "410 gone")
            fixture.pass(1)
            #expect(try await fixture.sweep().forgotten == 1)
            #expect(try await fixture.delete("a").verdict == "404 unknown")
            #expect(try await fixture.upload("a").status == 200)
        }
    }

    /// A device that began in time may end later: what it brings goes, too.
    @Test func bytesThatComeBehindADeletionGo() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try #require(try await fixture.upload("a").status == 200)
            let key = try await fixture.key("a")
            try await fixture.execute("UPDATE notes SET photo_id = NULL")
            #expect(try await fixture.delete("a").status == 204)
            #expect(store.count(.delete) == 1)
            store.put(key, size: 3)
            fixture.pass(AttachmentRules.settled - 1)
            #expect(try await fixture.sweep().removed == 0)
            #expect(try await keys(fixture) == [key])
            fixture.pass(1)
            #expect(try await fixture.sweep().removed == 1)
            #expect(store.keys.isEmpty)
            #expect(try await fixture.sweep().removed == 0)
            // By a clock that was late it came in time.
            store.put(key, size: 3)
            fixture.pass(Self.day)
            #expect(try await fixture.sweep().removed == 1)
            #expect(store.keys.isEmpty)
            #expect(try await keys(fixture).isEmpty)
            #expect(try await fixture.sweep().removed == 0)
        }
    }

    @Test func aStoreThatIsAwayIsToldLater() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            for id in ["a", "b"] {
                try await fixture.note(id, of: "alice", photo: id)
                try await fixture.keep(id, in: store)
            }
            fixture.pass(AttachmentRules.settled)
            store.fail(with: ObjectStoreError(.unavailable, "away"))
            try await fixture.execute("DELETE FROM notes")
            for id in ["a", "b"] { #expect(try await fixture.delete(id).status == 204) }
            #expect(store.keys.count == 2)
            await #expect(throws: Problem.self) { try await fixture.sweep() }
            store.fail(with: nil)
            // Both have been tried, and wait.
            #expect(try await fixture.sweep().removed == 0)
            fixture.pass(AttachmentRules.pause)
            #expect(try await fixture.sweep().removed == 2)
            #expect(store.keys.isEmpty)
            fixture.pass(AttachmentRules.lastTold)
            #expect(try await fixture.sweep().removed == 2)
            #expect(try await keys(fixture).isEmpty)
        }
    }

    /// One of which the store never says anything holds up no other.
    @Test func oneThatFailsHoldsUpNoOther() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            for id in ["a", "b", "c", "d"] {
                try await fixture.note(id, of: "alice", photo: id)
                try #require(try await fixture.upload(id).status == 200)
                fixture.pass(1)
            }
            try await fixture.execute("UPDATE notes SET photo_id = NULL WHERE id IN ('c', 'd')")
            let broken = [try await fixture.key("a"), try await fixture.key("c")]
            store.state.withLock { $0.broken = Set(broken) }
            for id in ["c", "d"] { #expect(try await fixture.delete(id).status == 204) }
            fixture.pass(Self.day)
            await #expect(throws: Problem.self) { try await fixture.sweep() }
            #expect(try await fixture.record("a", "state") == "pending")
            #expect(try await fixture.record("b", "state") == nil)
            #expect(try await keys(fixture).contains(broken[1]))
            store.state.withLock { $0.broken = [] }
            #expect(try await fixture.sweep().unfinished == 0, "it waits")
            fixture.pass(AttachmentRules.pause)
            let outcome = try await fixture.sweep()
            #expect(outcome.unfinished == 1 && outcome.removed == 2)
        }
    }

    /// A store that is away is not asked for each of many.
    @Test func afterSomeFailuresTheRestWaits() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            for number in 0..<20 {
                try await fixture.note("n\(number)", of: "alice", photo: "a\(number)")
                try #require(try await fixture.upload("a\(number)").status == 200)
            }
            fixture.pass(Self.day)
            store.fail(with: ObjectStoreError(.unavailable, "away"))
            await #expect(throws: Problem.self) { try await fixture.sweep() }
            #expect(store.count(.head) == 8)
            store.fail(with: nil)
            #expect(try await fixture.sweep().unfinished == 12)
            fixture.pass(AttachmentRules.pause)
            #expect(try await fixture.sweep().unfinished == 8)
        }
    }

    /// By a clock that has jumped everything is old.
    @Test func aClockThatIsNotThatOfTheDatabaseClearsUpNothing() async throws {
        try await AttachmentsFixture.withScripted({ $0.clockTolerance = .seconds(900) }) { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            let now = "SELECT extract(epoch FROM clock_timestamp())::text"
            let theirs = try #require(try await fixture.backend.scalar(now).flatMap { Double($0) })
            fixture.backend.clock.withLock { $0 = theirs }
            try #require(try await fixture.upload("a").status == 200)
            for jump in [2 * Self.day, -2 * Self.day] {
                fixture.backend.clock.withLock { $0 = theirs + jump }
                let error = await #expect(throws: BackendError.self) { try await fixture.sweep() }
                #expect(error?.message.contains("apart") == true)
            }
            #expect(try await fixture.record("a", "state") == "pending" && store.count(.delete) == 0)
            fixture.backend.clock.withLock { $0 = theirs }
            #expect(try await fixture.sweep().unfinished == 0)
        }
    }

    /// What does not need the store is done without it.
    @Test func oneStepThatFailsHoldsUpNoOther() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            for id in ["a", "b", "c"] { try await fixture.note(id, of: "alice", photo: id) }
            try await fixture.keep("a", in: store)
            try await fixture.keep("b", in: store)
            try #require(try await fixture.upload("c").status == 200)
            try await fixture.execute("DELETE FROM notes WHERE id = 'b'")
            #expect(try await fixture.delete("b").status == 204)
            store.fail(with: ObjectStoreError(.refused, "no rights"))
            fixture.pass(30 * Self.day)
            await #expect(throws: Problem.self) { try await fixture.sweep() }
            #expect(try await fixture.record("b", "state") == nil, "the deleted id is forgotten")
            #expect(try await fixture.record("c", "state") == "pending", "the store has not been asked")
            #expect(
                try await fixture.record("a", "looked_at = to_timestamp(1800000000 + 30 * 86400)") == "true")
        }
    }

    /// Several backends have one database.
    @Test func severalSweepsAtOnceDoItOnce() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            for number in 0..<20 {
                try await fixture.note("n\(number)", of: "alice", photo: "a\(number)")
                try #require(try await fixture.upload("a\(number)").status == 200)
            }
            fixture.pass(Self.day)
            let outcomes = try await withThrowingTaskGroup(of: AttachmentSweep.Outcome.self) { group in
                for _ in 0..<4 { group.addTask { try await fixture.sweep() } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.reduce(0) { $0 + $1.unfinished } == 20)
            #expect(try await fixture.backend.scalar("SELECT count(*) FROM psb.attachments") == "0")
            #expect(store.keys.isEmpty)
        }
    }
}
