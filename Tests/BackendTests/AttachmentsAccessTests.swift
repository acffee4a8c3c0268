import PowerSyncSystem
import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Who may upload, download and delete what (Backend/Attachments/SPEC.md, Who may do what).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct AttachmentsAccessTests {
    private static let cover = "0b1c8a52-0000-4000-8000-00000000000a"

    /// An answer without what names the request.
    private func text(_ answer: TestBackend.Answer) -> String {
        JSON.object((answer.json.objectMembers ?? []).filter { $0.name != "instance" }).text
    }

    @Test func whoOwnsARowThatNamesItUploadsAndNobodyElse() async throws {
        try await AttachmentsFixture.withScripted { fixture, _ in
            try await fixture.note("n", of: "alice", photo: "a", cover: Self.cover)
            #expect(try await fixture.upload("a").status == 200)
            #expect(try await fixture.upload(Self.cover).status == 200)
            let foreign = try await fixture.upload("a", as: "bob")
            let missing = try await fixture.upload("b", as: "bob")
            #expect(foreign.verdict == "404 unknown")
            #expect(foreign.json["code"] == .string("UNKNOWN") && foreign.json["retryable"] == .bool(false))
            #expect(text(foreign) == text(missing))
            #expect(try await fixture.upload("n").verdict == "404 unknown", "no column of attachments")
            #expect(try await fixture.record("b", "state") == nil)
        }
    }

    /// What is there and somebody else's is as what is not there, whatever is asked.
    @Test func aForeignAttachmentIsAsOneThatIsNotThere() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try await fixture.keep("a", in: store)
            for (theirs, none) in [
                (try await fixture.upload("a", as: "bob"), try await fixture.upload("x", as: "bob")),
                (try await fixture.complete("a", as: "bob"), try await fixture.complete("x", as: "bob")),
                (try await fixture.parts("a", [1], as: "bob"), try await fixture.parts("x", [1], as: "bob")),
                (try await fixture.download("a", as: "bob"), try await fixture.download("x", as: "bob")),
                (try await fixture.delete("a", as: "bob"), try await fixture.delete("x", as: "bob")),
            ] {
                #expect(theirs.verdict == "404 unknown")
                #expect(text(theirs) == text(none))
            }
            #expect(try await fixture.record("a", "state") == "ready")
        }
    }

    @Test func aTableWithoutAnOwnerIsEverybodys() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.execute("INSERT INTO walls VALUES ('w', 'a')")
            try await fixture.keep("a", in: store)
            #expect(try await fixture.upload("a", as: "bob").json["alreadyUploaded"] == .bool(true))
            #expect(try await fixture.download("a", as: "bob").status == 200)
            #expect(try await fixture.delete("a", as: "bob").verdict == "409 still-referenced")
            try await fixture.execute("DELETE FROM walls")
            #expect(try await fixture.download("a").verdict == "404 unknown")
            #expect(try await fixture.delete("a", as: "bob").status == 204)
        }
    }

    // MARK: Conditions

    @Test func aConditionLetsOthersReadAndNothingElse() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a", friend: "carol")
            try await fixture.keep("a", in: store)
            #expect(try await fixture.download("a").status == 200)
            #expect(try await fixture.download("a", as: "carol").status == 200)
            #expect(try await fixture.download("a", as: "bob").verdict == "404 unknown")
            #expect(try await fixture.upload("a", as: "carol").verdict == "404 unknown")
            #expect(try await fixture.delete("a", as: "carol").verdict == "404 unknown")
            try await fixture.execute("UPDATE notes SET friend = NULL")
            #expect(try await fixture.download("a", as: "carol").verdict == "404 unknown", "NULL is no yes")
        }
    }

    @Test func whereNobodyOwnsTheRowsTheConditionAloneLetsRead() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.execute("INSERT INTO boards VALUES ('b', 'a')")
            try await fixture.keep("a", in: store)
            #expect(try await fixture.download("a", as: "bob").status == 200)
            try await fixture.execute("UPDATE boards SET is_public = false")
            for user in ["alice", "bob"] {
                #expect(try await fixture.download("a", as: user).verdict == "404 unknown", "\(user)")
            }
            #expect(try await fixture.upload("a", as: "bob").json["alreadyUploaded"] == .bool(true))
        }
    }

    /// The subject stands where Postgres would read a word, whatever else is in the text.
    @Test func theSubjectIsAParameterWhereverItStands() async throws {
        let map = #"""
            tables:
              notes:
                owner: owner_id
                attachments: [photo_id]
                read: |
                  -- whoever :sub is
                  ':sub' <> :sub AND $q$:sub$q$ <> "friend" /* :sub */ AND E'\':sub' <> 'x'
                  AND EXISTS (SELECT FROM circles c WHERE c.note = notes.id AND c.member = :sub::text) -- at the end
            """#
        let schema = AttachmentsFixture.schema + "CREATE TABLE circles (note text, member text);"
        try await AttachmentsFixture.withScripted(schema: schema, map: map) { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a", friend: "x")
            try await fixture.execute("INSERT INTO circles VALUES ('n', 'it''s')")
            try await fixture.keep("a", in: store)
            #expect(try await fixture.download("a", as: "it's").status == 200)
            #expect(try await fixture.download("a", as: "bob").verdict == "404 unknown")
            #expect(try await fixture.download("a").status == 200, "the owner is not asked")
        }
    }

    /// That it cannot be asked is no answer: nobody takes it for an attachment that is not there.
    @Test func aConditionThatFailsIsTroubleOfTheServer() async throws {
        let map = AttachmentsFixture.map.replacing(
            "friend = :sub", with: "1 / (length(:sub) - 3) > 0 OR (friend || :sub)::integer > 0")
        try await AttachmentsFixture.withScripted(map: map) { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a", friend: "x")
            try await fixture.keep("a", in: store)
            for user in ["bob", "robert"] {
                let answer = try await fixture.download("a", as: user)
                #expect(answer.verdict == "503 database-unavailable", "\(user)")
                #expect(
                    answer.json["code"] == .string("INVALID_DATA") && answer.json["retryable"] == .bool(true))
                #expect(answer.fields["retry-after"] != nil)
            }
            #expect(try await fixture.download("a").status == 200, "the owner is not asked")
            let told = fixture.backend.lines.withLock {
                $0.filter { $0.contains("ERROR") && $0.contains("read conditions") }
            }
            #expect(told.count == 2)
            #expect(!told.contains { $0.contains("robert") }, "what it was about is in no log")
        }
    }

    /// A condition that a migration has broken is noticed when it is asked, and asked for nothing that it is not about.
    @Test func aConditionWhoseTableIsGoneIsTroubleOfTheServer() async throws {
        let map = AttachmentsFixture.map.replacing(
            "friend = :sub", with: "EXISTS (SELECT FROM circles WHERE member = :sub)")
        let schema = AttachmentsFixture.schema + "CREATE TABLE circles (member text);"
        try await AttachmentsFixture.withScripted(schema: schema, map: map) { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try await fixture.keep("a", in: store)
            try await fixture.execute("DROP TABLE circles")
            let answer = try await fixture.download("a", as: "bob")
            #expect(answer.verdict == "503 database-unavailable")
            #expect(answer.json["code"] == .string("SCHEMA_MISMATCH"))
            #expect(try await fixture.upload("a").status == 200, "an upload asks no condition")
        }
    }

    // MARK: Rows of others

    @Test func aRowOfOnesOwnThatNamesAnothersIdGivesNothing() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try await fixture.keep("a", in: store)
            try await fixture.note("m", of: "bob", photo: "a", friend: "bob")
            try await fixture.execute("INSERT INTO walls VALUES ('w', 'a')")
            try await fixture.execute("INSERT INTO boards VALUES ('b', 'a')")
            for answer in [
                try await fixture.upload("a", as: "bob"), try await fixture.complete("a", as: "bob"),
                try await fixture.parts("a", [1], as: "bob"), try await fixture.download("a", as: "bob"),
                try await fixture.delete("a", as: "bob"),
            ] {
                #expect(answer.verdict == "404 unknown")
            }
            #expect(try await fixture.delete("a").verdict == "409 still-referenced")
            try await fixture.execute("UPDATE notes SET photo_id = NULL WHERE id = 'n'")
            #expect(try await fixture.delete("a").status == 204, "and keeps nobody from deleting")
        }
    }

    /// The uploader's other rows count, too.
    @Test func everyRowOfTheUploaderThatNamesItCounts() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", cover: Self.cover)
            try await fixture.keep(Self.cover, in: store)
            try await fixture.note("o", of: "alice", photo: Self.cover, friend: "carol")
            #expect(try await fixture.download(Self.cover, as: "carol").status == 200)
            try await fixture.execute("DELETE FROM notes WHERE id = 'n'")
            #expect(try await fixture.delete(Self.cover).verdict == "409 still-referenced")
            #expect(try await fixture.download(Self.cover).status == 200)
        }
    }

    /// The row that was recorded stays the one, whoever has it now.
    @Test func theRecordedRowGoesWithItsOwner() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try await fixture.keep("a", in: store)
            try await fixture.execute("UPDATE notes SET owner_id = 'bob'")
            #expect(try await fixture.download("a", as: "bob").status == 200)
            #expect(try await fixture.upload("a", as: "bob").json["alreadyUploaded"] == .bool(true))
            #expect(try await fixture.download("a").verdict == "404 unknown")
            #expect(try await fixture.delete("a").verdict == "409 still-referenced")
            #expect(try await fixture.delete("a", as: "bob").verdict == "409 still-referenced")
            try await fixture.execute("UPDATE notes SET photo_id = NULL")
            #expect(try await fixture.delete("a", as: "carol").verdict == "404 unknown")
            #expect(try await fixture.delete("a", as: "bob").status == 204)
            #expect(try await fixture.record("a", "state") == "deleted")
        }
    }

    @Test func aRequestMaySayWhichRowIsRecorded() async throws {
        try await AttachmentsFixture.withScripted { fixture, _ in
            for id in ["n", "o", "p"] { try await fixture.note(id, of: "alice", photo: "a") }
            try await fixture.note("q", of: "bob", photo: "a")
            let question = AttachmentsFixture.question("a", [1], row: ("notes", "o"))
            #expect(try await fixture.upload(question).status == 200)
            let place = "table_schema || '.' || table_name || ' ' || row_id"
            #expect(try await fixture.record("a", place) == "public.notes o")
            // Another's, or one that is none, is not taken.
            for (number, row) in [("notes", "q"), ("nothing", "o"), ("walls", "o")].enumerated() {
                let id = "b\(number)"
                try await fixture.note("r\(number)", of: "alice", photo: id)
                let question = AttachmentsFixture.question(id, [1], row: (row.0, row.1))
                #expect(try await fixture.upload(question).status == 200)
                #expect(try await fixture.record(id, "row_id") == "r\(number)")
            }
        }
    }

    // MARK: Types

    /// Ids and owners of other types, and subjects that are no value of them.
    @Test func everyTypeIsComparedByteForByte() async throws {
        let schema = """
            CREATE TABLE files (id integer PRIMARY KEY, owner integer, number bigint, padded char(6), short varchar(4));
            INSERT INTO files VALUES (1, 7, 12, 'ab', 'cd'), (2, 8, 13, NULL, NULL);
            """
        let map = """
            tables:
              files: { owner: owner, attachments: [number, padded, short] }
            """
        try await AttachmentsFixture.withScripted(schema: schema, map: map) { fixture, _ in
            for id in ["12", "ab", "cd"] {
                #expect(try await fixture.upload(id, as: "7").status == 200, "\(id)")
            }
            for id in ["012", "12.0", " 12", "ab    ", "AB", "cd ", "13", "cdefgh"] {
                #expect(try await fixture.upload(id, as: "7").verdict == "404 unknown", "\(id)")
            }
            for user in ["07", "alice", "8"] {
                #expect(try await fixture.upload("12", as: user).verdict == "404 unknown", "\(user)")
            }
            #expect(try await fixture.record("12", "row_id") == "1")
            try await fixture.execute("UPDATE files SET number = NULL")
            #expect(try await fixture.delete("12", as: "7").status == 204)
        }
    }

    @Test func aUUIDIsSpelledAsTheDatabasePrintsIt() async throws {
        try await AttachmentsFixture.withScripted { fixture, _ in
            try await fixture.note("n", of: "alice", cover: Self.cover)
            #expect(try await fixture.upload(Self.cover.uppercased()).verdict == "404 unknown")
            #expect(try await fixture.upload(Self.cover.replacing("-", with: "")).verdict == "404 unknown")
            #expect(try await fixture.upload(Self.cover).status == 200)
        }
    }

    // MARK: The catalog

    @Test func withoutAMapThereAreNoAttachments() async throws {
        let open = AttachmentsFixture.schema + "CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public;"
        for (schema, map) in [
            (open, nil), (AttachmentsFixture.schema, "tables: { notes: { owner: owner_id } }"),
        ] as [(String, String?)] {
            try await AttachmentsFixture.withScripted(schema: schema, map: map) { fixture, _ in
                try await fixture.note("n", of: "alice", photo: "a")
                let answer = try await fixture.upload("a")
                #expect(answer.verdict == "404 unknown")
                #expect(answer.json["detail"]?.stringValue?.contains("PSB_TABLE_MAP") == true)
                let put = #"{"op":"PATCH","table":"notes","id":"n","data":{"friend":"bob"}}"#
                #expect(try await fixture.backend.apply(put, user: "alice") == "applied")
            }
        }
    }

    /// As during a migration: whoever had a right must come again, and keeps what he has.
    @Test func whatTheDatabaseLacksForAWhileMakesNothingUnknown() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", cover: Self.cover)
            try await fixture.keep(Self.cover, in: store)
            try await fixture.execute("ALTER TABLE notes RENAME COLUMN cover_id TO former")
            for answer in [
                try await fixture.upload(Self.cover), try await fixture.download(Self.cover),
                try await fixture.delete(Self.cover),
            ] {
                #expect(answer.verdict == "503 database-unavailable")
                #expect(answer.json["code"] == .string("SCHEMA_MISMATCH"))
            }
            #expect(try await fixture.record(Self.cover, "state") == "ready")
            try await fixture.execute("ALTER TABLE notes RENAME COLUMN former TO cover_id")
            #expect(try await fixture.download(Self.cover).status == 200)
            try await fixture.execute("ALTER TABLE notes RENAME TO slips")
            #expect(try await fixture.download(Self.cover).verdict == "503 database-unavailable")
        }
    }

    /// A table that has changed otherwise is read anew within the request.
    @Test func aChangedTableIsReadAnew() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try await fixture.execute("ALTER TABLE notes ADD COLUMN more text")
            try await fixture.keep("a", in: store)
            try await fixture.execute("ALTER TABLE notes ALTER COLUMN owner_id TYPE varchar(20)")
            #expect(try await fixture.download("a").status == 200)
        }
    }

    // MARK: Tokens

    @Test func aTokenIsAlwaysNeeded() async throws {
        try await AttachmentsFixture.withScripted({ $0.hasOpenUploads = true }) { fixture, store in
            try await fixture.execute("INSERT INTO walls VALUES ('w', 'a')")
            let body = AttachmentsFixture.question("a", [1, 2, 3]).json.text
            let token = try await fixture.backend.token("alice")
            for (method, path) in [
                ("POST", "/upload-url"), ("POST", "/batch"), ("POST", "/a/parts"), ("POST", "/a/complete"),
                ("GET", "/a/download-url"), ("DELETE", "/a"),
            ] {
                let answer = try await fixture.send(method, path, body, as: nil)
                #expect(answer.verdict == "401 unauthenticated", "\(method) \(path)")
                #expect(answer.fields["www-authenticate"]?.hasPrefix("Bearer ") == true)
            }
            fixture.pass(10_000)
            let late = try await fixture.backend.send(
                "GET", AttachmentsFixture.base + "/a/download-url",
                fields: ["authorization": "Bearer \(token)"])
            #expect(late.verdict == "401 unauthenticated")
            #expect(store.state.withLock { $0.calls.isEmpty })
        }
    }

    /// Policies of the database see who asks.
    @Test func rowSecurityHidesRows() async throws {
        let tables = """
            CREATE TABLE notes (id text PRIMARY KEY, photo_id text, reader text);
            ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
            CREATE POLICY p ON notes USING (reader = current_setting('request.jwt.claims', true)::json ->> 'sub'
                AND reader = current_setting('app.user_id', true));
            """
        try await TwoRoles.with(tables: tables) { two in
            try await two.migrate { $0.roles = [two.backendRole] }
            try await two.asOwner("INSERT INTO notes VALUES ('n', 'a', 'alice')")
            try await AttachmentsFixture.withScripted(
                schema: "SELECT 1", map: "tables: { notes: { attachments: [photo_id] } }", uri: two.backend
            ) { fixture, _ in
                #expect(try await fixture.upload("a", as: "bob").verdict == "404 unknown")
                let ticket = try await fixture.upload("a")
                #expect(ticket.status == 200, "\(ticket.json.text)")
                #expect(try await fixture.download("a", as: "bob").verdict == "404 unknown")
                #expect(try await fixture.download("a").verdict == "404 not-uploaded")
            }
        }
    }
}
