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
            #expect(try await fixture.delete("a", as: "bob").verdict == "404 unknown", "but for deleting it")
            #expect(try await fixture.delete("a").verdict == "409 still-referenced")
            try await fixture.execute("DELETE FROM walls")
            #expect(try await fixture.download("a").verdict == "404 unknown")
            #expect(try await fixture.delete("a", as: "bob").verdict == "404 unknown")
            #expect(try await fixture.delete("a").status == 204)
            try await fixture.execute("INSERT INTO walls VALUES ('w', 'a')")
            for user in ["alice", "bob"] {
                #expect(try await fixture.upload("a", [9], as: user).verdict == "410 gone", "\(user)")
            }
        }
    }

    /// Each table that is everybody's has files of its own: who may write one sees nothing of another.
    @Test func aTableThatIsEverybodysSharesItsFilesWithNoOtherOne() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.execute("INSERT INTO boards VALUES ('b', 'a')")
            try await fixture.keep("a", in: store)
            try await fixture.execute("UPDATE boards SET is_public = false")
            try await fixture.execute("INSERT INTO walls VALUES ('w', 'a')")
            #expect(try await fixture.download("a", as: "bob").verdict == "404 unknown")
            #expect(try await fixture.upload("a", [9], as: "bob").json["alreadyUploaded"] == .bool(false))
            #expect(try await fixture.backend.scalar("SELECT count(*) FROM psb.attachments") == "2")
        }
    }

    /// Who has a file keeps it, and lets the rows of a table name it, by uploading it from there.
    @Test func aFileIsPublishedByUploadingItFromThere() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try await fixture.keep("a", in: store)
            try await fixture.execute("INSERT INTO walls VALUES ('w', 'a')")
            #expect(try await fixture.upload("a").json["alreadyUploaded"] == .bool(true))
            #expect(
                try await fixture.download("a", as: "bob").verdict == "404 unknown",
                "she has a row of her own")
            try await fixture.execute("UPDATE notes SET photo_id = NULL")
            #expect(try await fixture.upload("a", [9]).verdict == "409 conflict")
            #expect(try await fixture.download("a", as: "bob").verdict == "404 unknown")
            #expect(try await fixture.upload("a").json["alreadyUploaded"] == .bool(true))
            for user in ["alice", "bob"] {
                #expect(try await fixture.download("a", as: user).status == 200, "\(user)")
            }
            #expect(try await fixture.upload("a", as: "bob").json["alreadyUploaded"] == .bool(true))
            #expect(try await fixture.delete("a").verdict == "409 still-referenced")
            // It is still hers.
            try await fixture.execute("UPDATE notes SET photo_id = 'a'")
            #expect(try await fixture.download("a").status == 200)
            // Of one table alone.
            try await fixture.execute("UPDATE notes SET photo_id = NULL")
            try await fixture.execute("INSERT INTO boards VALUES ('b', 'a')")
            let fromBoard = AttachmentsFixture.question("a", [1, 2, 3], row: ("boards", "b"))
            #expect(try await fixture.upload("a").json["alreadyUploaded"] == .bool(true))
            try await fixture.execute("DELETE FROM walls")
            #expect(try await fixture.upload(fromBoard).verdict == "409 conflict")
            #expect(try await fixture.download("a", as: "bob").verdict == "404 unknown")
            #expect(try await fixture.backend.scalar("SELECT count(*) FROM psb.attachments") == "1")
        }
    }

    /// What others upload from a table does not end what is on its way from another, and what one has deleted hides nothing.
    @Test func theFileOfARowIsThatOfItsTable() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.execute("INSERT INTO boards VALUES ('b', 'a')")
            try #require(try await fixture.upload("a").status == 200)
            let key = try await fixture.key("a")
            try await fixture.execute("INSERT INTO walls VALUES ('w', 'a')")
            let fromWall = AttachmentsFixture.question("a", [9], row: ("walls", "w"))
            try #require(
                try await fixture.upload(fromWall, as: "bob").json["alreadyUploaded"] == .bool(false))
            let ticket = try await fixture.upload("a")
            #expect(ticket.json["uploadUrl"]?.stringValue?.contains(key) == true)
            store.put(key, size: 3)
            #expect(try await fixture.complete("a").status == 204)
            let his = "SELECT key FROM psb.attachments WHERE owner = 'bob'"
            store.put(try #require(try await fixture.backend.scalar(his)), size: 1)
            #expect(try await fixture.complete("a", as: "bob").status == 204)
            try await fixture.execute("DELETE FROM boards")
            #expect(try await fixture.upload("a").verdict == "409 conflict", "it is not what walls have")
            #expect(try await fixture.upload("a", [9]).json["alreadyUploaded"] == .bool(true))
            #expect(try await fixture.download("a").json["size"] == .integer(1))
            // Hers is that of no row any more.
            try await fixture.execute("DELETE FROM walls")
            #expect(try await fixture.delete("a").status == 204)
            try await fixture.execute("INSERT INTO walls VALUES ('w', 'a')")
            #expect(try await fixture.upload("a", [9]).json["alreadyUploaded"] == .bool(true))
            #expect(try await fixture.upload("a").verdict == "409 conflict")
        }
    }

    /// What is on its way is its sender's: a part of somebody else's would spoil it.
    @Test func nobodyHasAHandInAnUploadOfSomebodyElse() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            let large = AttachmentsFixture.question("a", [], size: AttachmentPart.size)
            let other = AttachmentsFixture.question("a", [1], size: AttachmentPart.size)
            try await fixture.execute("INSERT INTO walls VALUES ('w', 'a')")
            try #require(try await fixture.upload(large).status == 200)
            let upload = try #require(try await fixture.record("a", "upload"))
            for question in [large, other] {
                let answer = try await fixture.upload(question, as: "bob")
                #expect(answer.verdict == "409 not-stored" && answer.json["retryable"] == .bool(true))
            }
            #expect(try await fixture.parts("a", [1], as: "bob").verdict == "404 unknown")
            #expect(try await fixture.complete("a", as: "bob").verdict == "404 unknown")
            #expect(try await fixture.parts("a", [1]).status == 200)
            store.putPart(1, size: AttachmentPart.size, of: upload)
            #expect(try await fixture.complete("a").status == 204)
            #expect(try await fixture.upload(large, as: "bob").json["alreadyUploaded"] == .bool(true))
            #expect(try await fixture.upload(other, as: "bob").verdict == "409 conflict")
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
                #expect(try await fixture.upload("a", as: user).verdict == "404 unknown", "\(user)")
            }
            #expect(try await fixture.delete("a", as: "bob").verdict == "404 unknown")
            #expect(try await fixture.delete("a").verdict == "409 still-referenced")
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

    /// It says nothing of which files there are, fails for nobody whose rows they are, and for no id that no row names.
    @Test func aConditionThatFailsTellsNothing() async throws {
        let map = AttachmentsFixture.map.replacing("friend = :sub", with: "cover_id = :sub::uuid")
        try await AttachmentsFixture.withScripted(map: map) { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try await fixture.note("m", of: "alice", photo: "b")
            try await fixture.keep("a", in: store)
            for id in ["a", "b"] {
                #expect(
                    try await fixture.download(id, as: "bob").verdict == "503 database-unavailable", "\(id)")
            }
            #expect(try await fixture.download("c", as: "bob").verdict == "404 unknown")
            #expect(try await fixture.download("a").status == 200)
            #expect(try await fixture.upload("b").status == 200)
            try await fixture.execute("UPDATE notes SET photo_id = NULL")
            #expect(try await fixture.delete("a").status == 204)
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

    /// It names a file of its own: what it is answered is the same whether somebody else has one of that id.
    @Test func aRowOfOnesOwnThatNamesAnothersIdGivesNothing() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try await fixture.keep("a", in: store)
            let hers = try await fixture.key("a")
            try await fixture.note("m", of: "bob", photo: "a", friend: "bob")
            try await fixture.note("o", of: "bob", photo: "x", friend: "bob")
            for (theirs, none) in [
                (try await fixture.complete("a", as: "bob"), try await fixture.complete("x", as: "bob")),
                (try await fixture.parts("a", [1], as: "bob"), try await fixture.parts("x", [1], as: "bob")),
                (try await fixture.download("a", as: "bob"), try await fixture.download("x", as: "bob")),
                (try await fixture.delete("a", as: "bob"), try await fixture.delete("x", as: "bob")),
            ] {
                #expect(theirs.verdict == "404 unknown")
                #expect(text(theirs) == text(none))
            }
            for id in ["a", "x"] {
                let ticket = try await fixture.upload(id, [9], as: "bob")
                #expect(ticket.status == 200 && ticket.json["alreadyUploaded"] == .bool(false), "\(id)")
                #expect(ticket.json["uploadUrl"]?.stringValue?.contains(hers) == false, "\(id)")
            }
            #expect(try await fixture.delete("a").verdict == "409 still-referenced")
            try await fixture.execute("UPDATE notes SET photo_id = NULL WHERE id = 'n'")
            #expect(try await fixture.delete("a").status == 204, "and keeps nobody from deleting")
            #expect(try await fixture.complete("a", as: "bob").verdict == "409 not-stored", "his own goes on")
        }
    }

    /// Whoever may read a row knows the id in it, and may ask before its owner does.
    @Test func whoeverAsksFirstTakesNoIdFromAnother() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a", friend: "bob")
            try await fixture.note("m", of: "bob", photo: "a", friend: "carol")
            let ticket = try await fixture.upload("a", [9], as: "bob")
            try #require(ticket.status == 200)
            store.put(try await fixture.key("a"), size: 1)
            try #require(try await fixture.complete("a", as: "bob").status == 204)
            fixture.pass(1)
            let hers = try await fixture.upload("a", [1, 2, 3])
            #expect(hers.status == 200 && hers.json["alreadyUploaded"] == .bool(false))
            let key = try await fixture.backend.scalar(
                "SELECT key FROM psb.attachments WHERE owner = 'alice'")
            store.put(try #require(key), size: 3)
            #expect(try await fixture.complete("a").status == 204)
            // Each has his own; who has none gets what the row names that he may read.
            #expect(try await fixture.download("a").json["size"] == .integer(3))
            #expect(try await fixture.download("a", as: "bob").json["size"] == .integer(1))
            #expect(try await fixture.download("a", as: "carol").json["size"] == .integer(1))
            try await fixture.execute("UPDATE notes SET friend = 'carol' WHERE id = 'n'")
            try await fixture.execute("UPDATE notes SET friend = NULL WHERE id = 'm'")
            #expect(try await fixture.download("a", as: "carol").json["size"] == .integer(3))
            // Who may read both says which one; nobody's is chosen for having been there first.
            try await fixture.execute("UPDATE notes SET friend = 'carol'")
            let unsaid = try await fixture.download("a", as: "carol")
            #expect(unsaid.verdict == "404 not-uploaded" && unsaid.json["retryable"] == .bool(true))
            #expect(unsaid.json["detail"]?.stringValue?.contains("several owners") == true)
            #expect(
                fixture.backend.lines.withLock {
                    $0.contains {
                        $0.contains("WARNING") && $0.contains("several owners") && $0.contains("notes")
                    }
                })
            for (row, size) in [("n", 3), ("m", 1)] {
                let said = try await fixture.download("a", as: "carol", "?table=notes&rowId=\(row)")
                #expect(said.json["size"] == .integer(Int64(size)), "\(row)")
            }
        }
    }

    /// Whoever sees the row before there is a file of it makes one that others would take for it.
    @Test func aFileThatIsNotThereYetIsNotReplacedByAnothers() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a", friend: "carol")
            try await fixture.note("m", of: "bob", photo: "a", friend: "carol")
            try await fixture.execute("INSERT INTO walls VALUES ('w', 'a')")
            try await fixture.keep("a", in: store, [9], as: "bob")
            #expect(try await fixture.download("a", as: "carol").verdict == "404 not-uploaded")
            for row in ["n", "x"] {
                let said = try await fixture.download("a", as: "carol", "?table=notes&rowId=\(row)")
                #expect(said.verdict == "404 unknown", "\(row)")
            }
            // The same for her own other device.
            try await fixture.execute("UPDATE notes SET friend = 'alice' WHERE id = 'm'")
            #expect(try await fixture.download("a").verdict == "404 not-uploaded")
            // And for a file of everybody.
            try await fixture.execute("DELETE FROM notes WHERE id = 'm'")
            try #require(try await fixture.upload("a", [8], as: "eve").status == 200)
            #expect(try await fixture.download("a", as: "dave").verdict == "404 not-uploaded")
            #expect(try await fixture.download("a").verdict == "404 unknown")
            #expect(try await fixture.download("a", as: "carol").verdict == "404 unknown")
        }
    }

    /// Anybody may make a row that is everybody's, with any id.
    @Test func aRowOfEverybodyTakesNoReaderFromARowWithAnOwner() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a", friend: "carol")
            try await fixture.keep("a", in: store)
            try await fixture.execute("INSERT INTO walls VALUES ('w', 'a')")
            let ticket = try await fixture.upload("a", [9], as: "bob")
            try #require(ticket.json["alreadyUploaded"] == .bool(false))
            for user in ["alice", "carol"] {
                #expect(try await fixture.download("a", as: user).json["size"] == .integer(3), "\(user)")
            }
            let his = "SELECT key FROM psb.attachments WHERE owner = 'bob'"
            store.put(try #require(try await fixture.backend.scalar(his)), size: 1)
            try #require(try await fixture.complete("a", as: "bob").status == 204)
            for user in ["alice", "carol"] {
                #expect(try await fixture.download("a", as: user).json["size"] == .integer(3), "\(user)")
            }
            #expect(try await fixture.download("a", as: "dave").json["size"] == .integer(1))
            let said = try await fixture.download("a", as: "carol", "?table=walls&rowId=w")
            #expect(said.json["size"] == .integer(1))
            // And so may two of them, of two tables.
            try await fixture.execute("INSERT INTO boards VALUES ('b', 'a')")
            try await fixture.execute(
                """
                INSERT INTO psb.attachments SELECT (r).* FROM (SELECT jsonb_populate_record(a, '{"key":"k","owner":"eve",
                    "table_name":"boards","size":7}') AS r FROM psb.attachments a WHERE owner = 'bob') AS copies
                """)
            #expect(try await fixture.download("a", as: "dave").verdict == "404 not-uploaded")
            let other = try await fixture.download("a", as: "dave", "?table=boards&rowId=b")
            #expect(other.json["size"] == .integer(7))
        }
    }

    /// Also before anybody has noticed that the row was gone.
    @Test func aRecordedRowThatIsGoneNeverCountsAgain() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try await fixture.keep("a", in: store)
            try await fixture.execute("DELETE FROM notes")
            try await fixture.note("n", of: "bob", photo: "a", friend: "bob")
            #expect(try await fixture.download("a", as: "bob").verdict == "404 unknown")
            #expect(try await fixture.delete("a", as: "bob").verdict == "404 unknown")
            #expect(try await fixture.upload("a", [9], as: "bob").json["alreadyUploaded"] == .bool(false))
            #expect(store.keys.count == 1)
            #expect(try await fixture.delete("a").status == 204, "and keeps nobody from deleting")
            #expect(store.keys.isEmpty)
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

    /// Nobody can tell a row that was handed over from one that was made anew.
    @Test func aRowThatIsHandedOverTakesNoFileAlong() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try await fixture.keep("a", in: store)
            try await fixture.execute("UPDATE notes SET owner_id = 'bob'")
            for user in ["alice", "bob"] {
                #expect(try await fixture.download("a", as: user).verdict == "404 unknown", "\(user)")
            }
            #expect(try await fixture.delete("a", as: "bob").verdict == "404 unknown")
            // Whoever hands the row over may hand over the file.
            try await fixture.execute(
                "UPDATE psb.attachments SET owner = 'bob' WHERE id = 'a' AND owner = 'alice'")
            #expect(try await fixture.download("a", as: "bob").status == 200)
            #expect(try await fixture.delete("a").verdict == "404 unknown")
            #expect(try await fixture.delete("a", as: "bob").verdict == "409 still-referenced")
            try await fixture.execute("UPDATE notes SET photo_id = NULL")
            #expect(try await fixture.delete("a", as: "bob").status == 204)
            #expect(try await fixture.record("a", "state") == "deleted")
        }
    }

    /// From there it is no way to the file, but it may come back; what the uploader cannot see he cannot take away.
    @Test func whatARowOfEverybodyNamesIsNotDeleted() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try await fixture.keep("a", in: store)
            try await fixture.execute("UPDATE notes SET photo_id = NULL")
            try await fixture.execute("INSERT INTO walls VALUES ('w', 'a')")
            #expect(try await fixture.delete("a").verdict == "409 still-referenced")
            #expect(try await fixture.download("a", as: "bob").verdict == "404 unknown")
            try await fixture.execute("DELETE FROM walls")
            try await fixture.execute("INSERT INTO boards VALUES ('b', 'a', true)")
            #expect(try await fixture.delete("a").verdict == "409 still-referenced")
            try await fixture.execute("UPDATE boards SET is_public = false")
            #expect(try await fixture.delete("a").status == 204)
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

    private static let guarded = """
        CREATE TABLE notes (id text PRIMARY KEY, photo_id text, owner text, reader text);
        ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
        CREATE POLICY p ON notes USING (owner = current_setting('request.jwt.claims', true)::json ->> 'sub'
            OR reader = current_setting('app.user_id', true));
        """

    /// Policies of the database see who asks.
    @Test func rowSecurityHidesRows() async throws {
        try await TwoRoles.with(tables: Self.guarded) { two in
            try await two.migrate { $0.roles = [two.backendRole] }
            try await two.asOwner("INSERT INTO notes VALUES ('n', 'a', 'alice', 'carol')")
            let map = "tables: { notes: { owner: owner, attachments: [photo_id], read: 'true' } }"
            try await AttachmentsFixture.withScripted(schema: "SELECT 1", map: map, uri: two.backend) {
                fixture, _ in
                #expect(try await fixture.upload("a", as: "bob").verdict == "404 unknown")
                let ticket = try await fixture.upload("a")
                #expect(ticket.status == 200, "\(ticket.json.text)")
                #expect(try await fixture.download("a", as: "bob").verdict == "404 unknown")
                #expect(try await fixture.download("a", as: "carol").verdict == "404 not-uploaded")
                #expect(try await fixture.download("a").verdict == "404 not-uploaded")
            }
        }
    }

    /// Rows of others name files of others: those that nobody but they can see, too.
    @Test func whatRowSecurityHidesIsNotDeletedByAnother() async throws {
        try await TwoRoles.with(tables: Self.guarded) { two in
            try await two.migrate { $0.roles = [two.backendRole] }
            try await two.asOwner(
                "INSERT INTO notes VALUES ('n', 'a', 'alice', NULL), ('m', 'a', 'bob', NULL)")
            let map = "tables: { notes: { owner: owner, attachments: [photo_id] } }"
            try await AttachmentsFixture.withScripted(schema: "SELECT 1", map: map, uri: two.backend) {
                fixture, store in
                try await fixture.keep("a", in: store)
                try await two.asOwner("UPDATE notes SET photo_id = NULL WHERE id = 'n'")
                try #require(try await fixture.upload("a", [9], as: "bob").status == 200)
                let his = "SELECT key FROM psb.attachments WHERE owner = 'bob'"
                store.put(try #require(try await fixture.backend.scalar(his)), size: 1)
                try #require(try await fixture.complete("a", as: "bob").status == 204)
                #expect(try await fixture.delete("a").status == 204)
                #expect(try await fixture.download("a", as: "bob").status == 200)
                #expect(store.keys.count == 1)
            }
        }
    }

    /// Rows that are hidden from some are not everybody's, since when ever that is so.
    @Test func aTableThatBeginsToHideRowsIsNobodysUntilItNamesItsOwner() async throws {
        let tables = "CREATE TABLE notes (id text PRIMARY KEY, photo_id text, reader text);"
        try await TwoRoles.with(tables: tables) { two in
            try await two.migrate { $0.roles = [two.backendRole] }
            try await two.asOwner("INSERT INTO notes VALUES ('n', 'a', 'alice'), ('m', 'a', 'bob')")
            let map = "tables:\n  notes:\n    attachments: [photo_id]\n"
            try await AttachmentsFixture.withScripted(schema: "SELECT 1", map: map, uri: two.backend) {
                fixture, store in
                try await fixture.keep("a", in: store)
                try await two.asOwner(
                    """
                    ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
                    CREATE POLICY p ON notes USING (reader = current_setting('app.user_id', true));
                    DELETE FROM notes WHERE id = 'n'
                    """)
                for answer in [
                    try await fixture.upload("a"), try await fixture.download("a", as: "bob"),
                    try await fixture.delete("a"),
                ] {
                    #expect(answer.verdict == "503 database-unavailable")
                }
                #expect(try await fixture.record("a", "state") == "ready" && store.keys.count == 1)
                #expect(
                    fixture.backend.lines.withLock {
                        $0.contains { $0.contains("ERROR") && $0.contains("owner") }
                    })
            }
            let error = await #expect(throws: BackendError.self) {
                try await TestBackend.with(schema: "SELECT 1", uri: two.backend, map: map) { _ in }
            }
            #expect(error?.code == .tableMap)
            #expect(
                error?.message.contains("line 3, column 19: the database may hide rows of public.notes")
                    == true)
        }
    }
}
