import PowerSyncBackend
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Requests about one attachment at once, held where it matters.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct AttachmentsRaceTests {
    private static let large = AttachmentPart.size + 5

    private static func question(_ id: String) -> AttachmentUploadRequest {
        AttachmentsFixture.question(id, [], size: large)
    }

    /// Waits until somebody has come to a gate.
    private func arrival(at gate: Gate) async throws {
        try await wait(for: "a call of the store") { gate.arrivals == 1 }
    }

    private func pendingOne(
        _ body: (AttachmentsFixture, ScriptedStore) async throws -> Void
    ) async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try #require(try await fixture.upload("a").status == 200)
            try await body(fixture, store)
        }
    }

    // MARK: Uploads

    @Test func questionsOfOneIdAtOnceAreOneAttachment() async throws {
        try await AttachmentsFixture.withScripted { fixture, _ in
            try await fixture.note("n", of: "alice", photo: "a")
            let verdicts = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<4 { group.addTask { try await fixture.upload("a", [1]).verdict } }
                for _ in 0..<4 { group.addTask { try await fixture.upload("a", [2]).verdict } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(
                verdicts.sorted() == Array(repeating: "200", count: 4)
                    + Array(repeating: "409 conflict", count: 4))
            #expect(try await fixture.backend.scalar("SELECT count(*) FROM psb.attachments") == "1")
        }
    }

    /// Of two users too, whom no lock of one user keeps apart: one of them uploads, the other waits for it.
    @Test func questionsOfTwoUsersAtOnceAreOneAttachment() async throws {
        try await AttachmentsFixture.withScripted { fixture, _ in
            try await fixture.execute(
                "INSERT INTO walls SELECT 'w' || n, 'a' || n FROM generate_series(1, 8) AS n")
            for number in 1...8 {
                async let first = fixture.upload("a\(number)", [1], as: "alice")
                async let second = fixture.upload("a\(number)", [1], as: "bob")
                let verdicts = try await [first.verdict, second.verdict]
                #expect(verdicts.sorted() == ["200", "409 not-stored"])
            }
            #expect(try await fixture.backend.scalar("SELECT count(*) FROM psb.attachments") == "8")
        }
    }

    /// The row is looked for in the transaction that makes the record.
    @Test func aRowThatGoesInBetweenGivesNoRight() async throws {
        try await AttachmentsFixture.withScripted { fixture, _ in
            try await fixture.note("n", of: "alice", photo: "a")
            let holder = try await PostgresConnection.connect(
                fixture.backend.uri, poller: fixture.backend.poller)
            try await holder.script(
                """
                BEGIN; SELECT pg_advisory_xact_lock(hashtextextended(concat('attachments ', length('alice'), ' alice'), 0))
                """)
            async let answer = fixture.upload("a")
            try await fixture.backend.waitForLocked(1)
            try await fixture.execute("DELETE FROM notes")
            try await holder.script("COMMIT")
            #expect(try await answer.verdict == "404 unknown")
            #expect(try await fixture.record("a", "state") == nil)
            await holder.close()
        }
    }

    @Test func twoUploadsInPartsThatBeginAtOnceAreOne() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            let gate = store.hold(.createMultipart)
            async let first = fixture.upload(Self.question("a"))
            try await arrival(at: gate)
            let second = try await fixture.upload(Self.question("a"))
            #expect(second.status == 200)
            gate.open()
            #expect(try await first.status == 200)
            let upload = try #require(try await fixture.record("a", "upload"))
            #expect(store.state.withLock { Array($0.uploads.keys) } == [upload], "the other one is given up")
            #expect(store.count(.createMultipart) == 2 && store.count(.abortMultipart) == 1)
        }
    }

    // MARK: Completion

    @Test func whatIsDeletedWhileItIsCompletedIsGone() async throws {
        try await pendingOne { fixture, store in
            store.put(try await fixture.key("a"), size: 3)
            try await fixture.execute("UPDATE notes SET photo_id = NULL")
            let gate = store.hold(.head)
            async let completion = fixture.complete("a")
            try await arrival(at: gate)
            #expect(try await fixture.delete("a").status == 204)
            // A device that is late, with a URL of before.
            store.put(try await fixture.key("a"), size: 3)
            gate.open()
            #expect(try await completion.verdict == "410 gone")
            #expect(try await fixture.record("a", "state") == "deleted")
            // The store is told once more when no URL is good any more.
            fixture.pass(AttachmentRules.settled)
            #expect(try await fixture.sweep().removed == 1)
            #expect(store.keys.isEmpty)
            fixture.pass(AttachmentRules.lastTold)
            #expect(try await fixture.sweep().removed == 1)
            #expect(try await fixture.backend.scalar("SELECT count(*) FROM psb.attachment_removals") == "0")
        }
    }

    @Test func whatIsDeletedWhilePartsAreJoinedIsGone() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try #require(try await fixture.upload(Self.question("a")).status == 200)
            let upload = try #require(try await fixture.record("a", "upload"))
            store.putPart(1, size: AttachmentPart.size, of: upload)
            store.putPart(2, size: 5, of: upload)
            let gate = store.hold(.completeMultipart)
            async let completion = fixture.complete("a")
            try await arrival(at: gate)
            try await fixture.execute("UPDATE notes SET photo_id = NULL")
            #expect(try await fixture.delete("a").status == 204)
            gate.open()
            #expect(try await completion.verdict == "410 gone")
            #expect(store.keys.isEmpty && store.state.withLock { $0.uploads.isEmpty })
        }
    }

    /// To make an object of parts may take all bytes to be written once more: one user has not all of that.
    @Test func oneUploadOfAUserIsCompletedAtATime() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            for (id, user) in [("a", "alice"), ("b", "alice"), ("c", "bob")] {
                try await fixture.note(id, of: user, photo: id)
                try #require(try await fixture.upload(Self.question(id), as: user).status == 200)
                let upload = try #require(try await fixture.record(id, "upload"))
                store.putPart(1, size: AttachmentPart.size, of: upload)
                store.putPart(2, size: 5, of: upload)
            }
            let gate = store.hold(.completeMultipart)
            async let first = fixture.complete("a")
            try await arrival(at: gate)
            let listed = store.count(.parts)
            async let second = fixture.complete("b")
            try await wait(for: "the second to know its parts") { store.count(.parts) == listed + 1 }
            #expect(try await fixture.complete("c", as: "bob").status == 204)
            #expect(store.count(.completeMultipart) == 2, "the first of hers, and his")
            gate.open()
            #expect(try await first.status == 204)
            #expect(try await second.status == 204)
            #expect(store.count(.completeMultipart) == 3)
        }
    }

    @Test func aSweepTakesNothingFromACompletion() async throws {
        try await pendingOne { fixture, store in
            fixture.pass(AttachmentRules.unfinished + 1)
            let gate = store.hold(.head)
            async let sweep = fixture.sweep()
            try await arrival(at: gate)
            // The sweep has found it unfinished, and asks the store; now it is finished.
            store.put(try await fixture.key("a"), size: 3)
            #expect(try await fixture.complete("a").status == 204)
            gate.open()
            #expect(try await sweep.unfinished == 0)
            #expect(try await fixture.download("a").status == 200)
            #expect(store.keys.count == 1)
        }
    }

    @Test func aSweepTakesNothingThatIsAskedForAgain() async throws {
        try await pendingOne { fixture, store in
            fixture.pass(AttachmentRules.unfinished + 1)
            let gate = store.hold(.head)
            async let sweep = fixture.sweep()
            try await arrival(at: gate)
            #expect(try await fixture.upload("a").status == 200)
            gate.open()
            #expect(try await sweep.unfinished == 0)
            #expect(try await fixture.record("a", "state") == "pending")
        }
    }

    @Test func aCompletionThatTheSweepHasOvertakenBeginsAnew() async throws {
        try await pendingOne { fixture, store in
            let key = try await fixture.key("a")
            fixture.pass(AttachmentRules.unfinished + 1)
            let gate = store.hold(.head)
            async let completion = fixture.complete("a")
            try await arrival(at: gate)
            #expect(try await fixture.sweep().unfinished == 1)
            store.put(key, size: 3)
            gate.open()
            #expect(try await completion.verdict == "409 not-stored")
            // Its id is free, under another key.
            #expect(try await fixture.upload("a").json["alreadyUploaded"] == .bool(false))
            #expect(try await fixture.key("a") != key)
        }
    }

    /// As after an outage, when a device completes what the sweep of the start forgets.
    @Test func whatIsMadeOfAForgottenUploadGoes() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try #require(try await fixture.upload(Self.question("a")).status == 200)
            let (key, upload) = (
                try await fixture.key("a"), try #require(try await fixture.record("a", "upload"))
            )
            store.putPart(1, size: AttachmentPart.size, of: upload)
            store.putPart(2, size: 5, of: upload)
            fixture.pass(3 * 86_400)
            let gate = store.hold(.completeMultipart)
            async let completion = fixture.complete("a")
            try await arrival(at: gate)
            let swept = try await fixture.sweep()
            #expect(swept.unfinished == 1 && swept.removed == 1)
            // The store had begun to join them before it was told.
            store.put(key, size: Self.large)
            gate.open()
            #expect(try await completion.verdict == "409 not-stored")
            for _ in 0..<2 {
                fixture.pass(86_400)
                _ = try await fixture.sweep()
            }
            #expect(store.keys.isEmpty)
            #expect(try await fixture.backend.scalar("SELECT count(*) FROM psb.attachment_removals") == "0")
        }
    }

    @Test func aDownloadOfWhatIsDeletedMeanwhileIsUnknown() async throws {
        try await pendingOne { fixture, store in
            store.put(try await fixture.key("a"), size: 3)
            let gate = store.hold(.head)
            async let download = fixture.download("a")
            try await arrival(at: gate)
            try await fixture.execute("UPDATE notes SET photo_id = NULL")
            // The bytes are still there, which decides nothing.
            store.fail([.delete], with: ObjectStoreError(.unavailable, "away"))
            #expect(try await fixture.delete("a").status == 204)
            gate.open()
            #expect(try await download.verdict == "404 unknown")
        }
    }

    // MARK: The database

    /// However many questions of one user are held up, the connections are there for the others.
    @Test func oneUserDoesNotHaveAllConnections() async throws {
        try await AttachmentsFixture.withScripted { fixture, _ in
            for number in 0..<8 { try await fixture.note("n\(number)", of: "alice", photo: "a\(number)") }
            try await fixture.note("m", of: "bob", photo: "b")
            let holder = try await PostgresConnection.connect(
                fixture.backend.uri, poller: fixture.backend.poller)
            try await holder.script(
                """
                BEGIN; SELECT pg_advisory_xact_lock(hashtextextended(concat('attachments ', length('alice'), ' alice'), 0))
                """)
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<8 { group.addTask { try await fixture.upload("a\(number)").status } }
                try await fixture.backend.waitForLocked(2)
                #expect(try await fixture.upload("b", as: "bob").status == 200)
                try await holder.script("COMMIT")
                for try await status in group { #expect(status == 200) }
            }
            await holder.close()
        }
    }

    /// Nor with what is recorded behind the store's answer, when somebody holds the record.
    @Test func oneUsersCompletionsDoNotHaveAllConnections() async throws {
        try await pendingOne { fixture, store in
            try await fixture.note("m", of: "bob", photo: "b")
            store.put(try await fixture.key("a"), size: 3)
            let gate = Gate()
            store.state.withLock { state in
                state.onCall = { call in
                    guard call == .head else { return }
                    await gate.pass()
                }
            }
            let holder = try await PostgresConnection.connect(
                fixture.backend.uri, poller: fixture.backend.poller)
            try await holder.script("BEGIN; SELECT 1 FROM psb.attachments WHERE id = 'a' FOR UPDATE")
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 { group.addTask { try await fixture.complete("a").status } }
                try await wait(for: "all to ask the store") { gate.arrivals == 8 }
                gate.open()
                try await fixture.backend.waitForLocked(2)
                for _ in 0..<3 {
                    let status = try await fixture.upload("b", as: "bob").status
                    #expect(status == 200)
                }
                try await holder.script("COMMIT")
                for try await status in group { #expect(status == 204) }
            }
            await holder.close()
        }
    }

    /// Nor with the question whether the store is that of the records, as where it has lost some.
    @Test func oneUsersLostFilesDoNotHaveAllConnections() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("m", of: "bob", photo: "b")
            let ids = (0..<8).map { "a\($0)" }
            for id in ids {
                try await fixture.note(id, of: "alice", photo: id)
                try await fixture.keep(id, in: store)
            }
            store.state.withLock { $0.objects = [:] }
            let holder = try await PostgresConnection.connect(
                fixture.backend.uri, poller: fixture.backend.poller)
            try await holder.script("BEGIN; LOCK TABLE psb.attachment_store IN ACCESS EXCLUSIVE MODE")
            try await withThrowingTaskGroup(of: Int.self) { group in
                for id in ids { group.addTask { try await fixture.upload(id).status } }
                try await fixture.backend.waitForLocked(2)
                let status = try await fixture.upload("b", as: "bob").status
                #expect(status == 200)
                try await holder.script("COMMIT")
                for try await status in group { #expect(status == 200) }
            }
            await holder.close()
        }
    }

    /// Whatever the database's own level is, who has waited for another goes on from what that one has left.
    @Test func whatWaitsForARecordIsNotRefused() async throws {
        let schema =
            AttachmentsFixture.schema + """
                DO $$ BEGIN
                    EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = ''repeatable read''',
                        current_database());
                END $$;
                """
        try await AttachmentsFixture.withScripted(schema: schema) { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try #require(try await fixture.upload("a").status == 200)
            store.put(try await fixture.key("a"), size: 3)
            let holder = try await PostgresConnection.connect(
                fixture.backend.uri, poller: fixture.backend.poller)
            try await holder.script("BEGIN; UPDATE psb.attachments SET signed_at = now()")
            async let answer = fixture.complete("a")
            try await fixture.backend.waitForLocked(1)
            try await holder.script("COMMIT")
            #expect(try await answer.status == 204)
            await holder.close()
        }
    }

    // MARK: The quota

    @Test func noQuestionAtOnceGoesOverTheQuota() async throws {
        try await AttachmentsFixture.withScripted({ $0.attachments?.policy.userFiles = 3 }) { fixture, _ in
            for number in 0..<8 { try await fixture.note("n\(number)", of: "alice", photo: "a\(number)") }
            let verdicts = try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<8 { group.addTask { try await fixture.upload("a\(number)").verdict } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(verdicts.count { $0 == "200" } == 3)
            #expect(verdicts.count { $0 == "429 quota-exceeded" } == 5)
            #expect(
                try await fixture.backend.scalar("SELECT count(*) FROM psb.attachments WHERE owner = 'alice'")
                    == "3")
        }
    }
}
