import PowerSyncBackend
import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// A person wants to be forgotten, files too (backend 3.4, Retention).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct AttachmentsEraseTests {
    @Test func nothingStays() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            let desk = OperatorDesk(uri: fixture.backend.uri)
            for (id, user) in [("a", "alice"), ("b", "alice"), ("c", "alice"), ("d", "bob")] {
                try await fixture.note(id, of: user, photo: id, friend: "bob")
            }
            try await fixture.keep("a", in: store)
            try #require(
                try await fixture.upload(
                    AttachmentsFixture.question("b", [], filename: "canary.png", size: AttachmentPart.size)
                ).status == 200)
            try await fixture.keep("c", in: store)
            try await fixture.execute("UPDATE notes SET photo_id = NULL WHERE id = 'c'")
            try #require(try await fixture.delete("c").status == 204)
            try await fixture.keep("d", in: store, as: "bob")
            let bobs = try await fixture.backend.query("SELECT * FROM psb.attachments WHERE owner = 'bob'")

            let asked = try await desk.run("erase", "--user", "alice", "--json").json["would_remove"]
            #expect(asked?["psb.attachments"] == .integer(3))
            #expect(try await fixture.record("a", "state") == "ready")
            let table = await desk.run("erase", "--user", "alice")
            #expect(table.status == 1 && table.text.contains("psb.attachments"))
            let done = await desk.run("erase", "--user", "alice", "--yes", "--json")
            #expect(done.status == 0)
            let names = try #require(try done.json["removed"]?.objectMembers).map(\.name)
            #expect(names == names.sorted() && names.first == "psb.attachments")
            #expect(try done.json["removed"]?["psb.attachments"] == .integer(3))

            #expect(try await fixture.backend.query("SELECT * FROM psb.attachments") == bobs)
            let removals = "SELECT count(*) || ' ' || count(owner) FROM psb.attachment_removals"
            #expect(try await fixture.backend.scalar(removals) == "3 0")
            // Her rows still name them.
            for user in ["alice", "bob"] {
                #expect(try await fixture.download("a", as: user).verdict == "404 unknown")
                #expect(try await fixture.delete("a", as: user).verdict == "404 unknown")
            }
            #expect(try await fixture.download("d", as: "bob").status == 200)
            let again = await desk.run("erase", "--user", "alice", "--yes", "--json")
            #expect(try again.json["removed"]?["psb.attachments"] == .integer(0))
        }
    }

    /// What is deleted in that moment is nobody's, too.
    @Test func whatIsBeingDeletedKeepsNoName() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            for id in ["a", "b"] {
                try await fixture.note(id, of: "alice", photo: id)
                try await fixture.keep(id, in: store)
            }
            let holder = try await PostgresConnection.connect(
                fixture.backend.uri, poller: fixture.backend.poller)
            // As a DELETE does.
            try await holder.script(
                """
                BEGIN; UPDATE psb.attachments SET state = 'deleted', deleted_at = now() WHERE id = 'a';
                INSERT INTO psb.attachment_removals (key, owner, size, due_at, last_at)
                SELECT key, owner, size, now(), now() FROM psb.attachments WHERE id = 'a'
                """)
            async let done = OperatorDesk(uri: fixture.backend.uri).run("erase", "--user", "alice", "--yes")
            try await fixture.backend.waitForLocked(1)
            try await holder.script("COMMIT")
            let status = await done.status
            #expect(status == 0)
            let removals = "SELECT count(*) || ' ' || count(owner) FROM psb.attachment_removals"
            #expect(try await fixture.backend.scalar(removals) == "2 0")
            #expect(try await fixture.backend.scalar("SELECT count(*) FROM psb.attachments") == "0")
            await holder.close()
        }
    }

    /// By a backend that runs; the command knows no store.
    @Test func theBytesLeaveTheStore() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            for id in ["a", "b"] { try await fixture.note(id, of: "alice", photo: id) }
            try await fixture.keep("a", in: store)
            try #require(
                try await fixture.upload(AttachmentsFixture.question("b", [], size: AttachmentPart.size))
                    .status == 200)
            // The clock of the command is that of the machine, which the rules of clearing up do not depend on.
            let done = await OperatorDesk(uri: fixture.backend.uri).run("erase", "--user", "alice", "--yes")
            #expect(done.status == 0)
            #expect(store.keys.count == 1)
            #expect(try await fixture.sweep().removed == 2)
            #expect(store.keys.isEmpty && store.state.withLock { $0.uploads.isEmpty })
            fixture.pass(AttachmentRules.settled)
            #expect(try await fixture.sweep().removed == 2, "once more, when no URL is good")
            fixture.pass(AttachmentRules.lastTold)
            #expect(try await fixture.sweep().removed == 2)
            #expect(try await fixture.backend.scalar("SELECT count(*) FROM psb.attachment_removals") == "0")
        }
    }

    /// Whatever is completed in that moment: the store is told again a day later, however old its URLs are.
    @Test func whatIsMadeOfAnErasedUploadGoes() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try #require(try await fixture.upload("a").status == 200)
            let key = try await fixture.key("a")
            let now = "SELECT extract(epoch FROM clock_timestamp())::text"
            let theirs = try #require(try await fixture.backend.scalar(now).flatMap { Double($0) })
            try await fixture.execute("UPDATE psb.attachments SET signed_at = now() - interval '3 days'")
            let done = await OperatorDesk(uri: fixture.backend.uri).run("erase", "--user", "alice", "--yes")
            #expect(done.status == 0)
            fixture.backend.clock.withLock { $0 = theirs + 600 }
            #expect(try await fixture.sweep().removed == 1)
            store.put(key, size: 3)
            fixture.pass(AttachmentRules.lastTold + 600)
            #expect(try await fixture.sweep().removed == 1)
            #expect(store.keys.isEmpty)
            #expect(try await fixture.backend.scalar("SELECT count(*) FROM psb.attachment_removals") == "0")
        }
    }

    /// The command may be newer than the schema.
    @Test func aSchemaOfBeforeIsErasedAsFarAsItGoes() async throws {
        try await AttachmentsFixture.withScripted { fixture, _ in
            try await fixture.execute("DROP TABLE psb.attachments")
            let done = await OperatorDesk(uri: fixture.backend.uri).run(
                "erase", "--user", "alice", "--yes", "--json")
            #expect(done.status == 0)
            #expect(try done.json["removed"]?["psb.attachments"] == nil)
            #expect(try done.json["removed"]?["psb.ledger"] == .integer(0))
        }
    }
}
