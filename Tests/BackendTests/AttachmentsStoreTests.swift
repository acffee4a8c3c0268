import PowerSyncHTTP
import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// A store that is away, late, full of surprises, or asked for parts (Backend/Attachments/SPEC.md).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct AttachmentsStoreTests {
    private static let part = AttachmentPart.size
    private static let large = AttachmentsFixture.question("a", [], size: part + 5)
    private static let away = ObjectStoreError(.unavailable, "the bucket does not answer")

    private func with(_ body: (AttachmentsFixture, ScriptedStore) async throws -> Void) async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try await body(fixture, store)
        }
    }

    private func expectUnavailable(
        _ answer: TestBackend.Answer, _ code: String = "STORE_UNAVAILABLE",
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(answer.verdict == "503 store-unavailable", sourceLocation: sourceLocation)
        #expect(answer.json["code"] == .string(code), sourceLocation: sourceLocation)
        #expect(answer.json["retryable"] == .bool(true), sourceLocation: sourceLocation)
        #expect(answer.fields["retry-after"] != nil, sourceLocation: sourceLocation)
    }

    // MARK: Trouble

    @Test func aStoreThatIsAwayChangesNothing() async throws {
        try await with { fixture, store in
            try #require(try await fixture.upload("a").status == 200)
            let before = try await fixture.backend.query("SELECT * FROM psb.attachments")
            store.fail(with: Self.away)
            expectUnavailable(try await fixture.upload("a"))
            expectUnavailable(try await fixture.complete("a"))
            expectUnavailable(try await fixture.download("a"))
            #expect(try await fixture.backend.query("SELECT * FROM psb.attachments") == before)
            let told = fixture.backend.lines.withLock {
                $0.filter { $0.contains("the bucket does not answer") }
            }
            #expect(told.count == 3 && told.allSatisfy { $0.contains("WARNING") })
            store.fail(with: nil)
            store.put(try await fixture.key("a"), size: 3)
            #expect(try await fixture.complete("a").status == 204)
            // Signing asks nobody.
            store.fail(with: Self.away)
            #expect(try await fixture.download("a").status == 200)
            expectUnavailable(try await fixture.upload("a"))
            #expect(try await fixture.record("a", "state") == "ready")
        }
    }

    /// Its uploader asks again, and brings it again; nobody else can.
    @Test func whatTheStoreHasLostIsUploadedAgain() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.execute("INSERT INTO walls VALUES ('w', 'a')")
            try await fixture.keep("a", in: store)
            let key = try await fixture.key("a")
            #expect(try await fixture.upload("a").json["alreadyUploaded"] == .bool(true))
            store.state.withLock { $0.objects = [:] }
            #expect(try await fixture.upload("a", as: "bob").json["alreadyUploaded"] == .bool(true))
            #expect(try await fixture.record("a", "state") == "ready")
            let ticket = try await fixture.upload("a")
            #expect(ticket.json["alreadyUploaded"] == .bool(false) && ticket.json["uploadUrl"] != nil)
            #expect(try await fixture.download("a", as: "bob").verdict == "404 not-uploaded")
            #expect(try await fixture.upload("a", [9]).verdict == "409 conflict", "the same bytes")
            store.put(key, size: 3)
            #expect(try await fixture.complete("a").status == 204)
            #expect(try await fixture.download("a", as: "bob").status == 200)
        }
    }

    /// Its disk is away, say: nothing that is missing there is lost, and nothing that goes is told to it.
    @Test func aStoreThatIsNotThatOfTheRecordsIsBelievedNothing() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            for id in ["a", "b", "c", "d"] { try await fixture.note(id, of: "alice", photo: id) }
            for id in ["a", "b"] { try await fixture.keep(id, in: store) }
            let large = AttachmentsFixture.question("c", [], size: Self.part + 5)
            try #require(try await fixture.upload(large).status == 200)
            try #require(try await fixture.upload("d").status == 200)
            let upload = try #require(try await fixture.record("c", "upload"))
            let before = store.state.withLock { state in
                defer {
                    state.isOther = true
                    state.objects = [:]
                    state.uploads = [:]
                }
                return (objects: state.objects, uploads: state.uploads)
            }
            expectUnavailable(try await fixture.upload("a"), "STORE_MISCONFIGURED")
            #expect(try await fixture.record("a", "state") == "ready")
            expectUnavailable(try await fixture.complete("c"), "STORE_MISCONFIGURED")
            expectUnavailable(try await fixture.upload(large), "STORE_MISCONFIGURED")
            #expect(try await fixture.record("c", "upload") == upload)
            try await fixture.execute("UPDATE notes SET photo_id = NULL WHERE id = 'b'")
            #expect(try await fixture.delete("b").status == 204)
            fixture.pass(2 * 86_400)
            await #expect(throws: Problem.self) { try await fixture.sweep() }
            #expect(try await fixture.record("d", "state") == "pending")
            #expect(try await fixture.backend.scalar("SELECT count(*) FROM psb.attachment_removals") == "1")
            #expect(store.count(.delete) == 0 && store.count(.abortMultipart) == 0)
            #expect(
                fixture.backend.lines.withLock {
                    $0.contains { $0.contains("ERROR") && $0.contains("psb.attachment_store") }
                })

            store.state.withLock { state in
                state.isOther = false
                state.objects = before.objects
                state.uploads = before.uploads
            }
            fixture.pass(AttachmentRules.pause)
            #expect(try await fixture.sweep().unfinished == 2)
            #expect(store.keys == [try await fixture.key("a")])
        }
    }

    @Test func aStoreThatRefusesIsTheOperatorsToSetRight() async throws {
        try await with { fixture, store in
            try #require(try await fixture.upload("a").status == 200)
            store.fail(with: ObjectStoreError(.refused, "the key is not known"))
            expectUnavailable(try await fixture.complete("a"), "STORE_MISCONFIGURED")
            #expect(
                fixture.backend.lines.withLock {
                    $0.contains { $0.contains("ERROR") && $0.contains("the key is not known") }
                })
        }
    }

    /// A wait ends with the time of a request, and the store is told that nobody waits.
    @Test func aStoreThatIsLateIsNotWaitedForLonger() async throws {
        try await AttachmentsFixture.withScripted({ $0.uploadTimes.request = TestOptions.standstill }) {
            fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            try #require(try await fixture.upload("a").status == 200)
            let gate = Gate()
            store.state.withLock { state in
                state.onCall = { _ in
                    await withTaskCancellationHandler {
                        await gate.pass()
                    } onCancel: {
                        gate.open()
                    }
                }
            }
            expectUnavailable(try await fixture.complete("a"))
            #expect(gate.arrivals == 1)
            #expect(try await fixture.record("a", "state") == "pending")
        }
    }

    /// A store that hangs would else hold connections and locks of the database.
    @Test func noTransactionIsOpenWhileTheStoreIsAsked() async throws {
        try await with { fixture, store in
            let open = Lock<[String]>([])
            let backend = fixture.backend
            store.state.withLock { state in
                state.onCall = { call in
                    // Without an answer the expectation below fails.
                    let count = try? await backend.scalar(
                        """
                        SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                            AND application_name = 'powersync-backend' AND state LIKE 'idle in transaction%'
                        """)
                    open.withLock { $0.append("\(call.rawValue) \(count ?? "nobody knows")") }
                }
            }
            try #require(try await fixture.upload(Self.large).status == 200)
            try #require(try await fixture.upload(Self.large).status == 200)
            let upload = try #require(try await fixture.record("a", "upload"))
            _ = try await fixture.download("a")
            store.putPart(1, size: Self.part, of: upload)
            store.putPart(2, size: 5, of: upload)
            #expect(try await fixture.complete("a").status == 204)
            try await fixture.execute("UPDATE notes SET photo_id = NULL")
            #expect(try await fixture.delete("a").status == 204)
            fixture.pass(86_400)
            _ = try await fixture.sweep()
            let seen = open.withLock { $0 }
            #expect(Set(seen.map { $0.split(separator: " ")[0] }).count == 6, "\(seen)")
            #expect(seen.allSatisfy { $0.hasSuffix(" 0") }, "\(seen)")
        }
    }

    // MARK: In parts

    @Test func anUploadInPartsGoesOnWhereItWas() async throws {
        try await with { fixture, store in
            let begun = try await fixture.upload(Self.large)
            #expect(begun.json["multipart"]?["partCount"] == .integer(2))
            let upload = try #require(try await fixture.record("a", "upload"))
            store.putPart(1, size: Self.part, of: upload)
            store.putPart(2, size: 4, of: upload)
            let again = try await fixture.upload(Self.large)
            #expect(
                again.json["multipart"]?["uploaded"] == .array([.integer(1)]), "one of another size is none")
            #expect(try await fixture.complete("a").verdict == "409 not-stored")
            #expect(store.count(.completeMultipart) == 0 && store.count(.createMultipart) == 1)
            store.putPart(2, size: 5, of: upload)
            #expect(try await fixture.complete("a").status == 204)
            #expect(try await fixture.record("a", "state || coalesce(upload, '')") == "ready")
        }
    }

    @Test func partsAreSignedForTheirNumbersAndSizes() async throws {
        try await with { fixture, _ in
            try #require(try await fixture.upload(Self.large).status == 200)
            let (key, upload) = (
                try await fixture.key("a"), try #require(try await fixture.record("a", "upload"))
            )
            let signed = try await fixture.parts("a", [2, 1]).json["parts"]?.arrayValue
            #expect(
                signed?.map { $0["uploadUrl"]?.stringValue } == [
                    "http://store.invalid/\(key)/\(upload)/2/5",
                    "http://store.invalid/\(key)/\(upload)/1/\(Self.part)",
                ])
            for numbers in [[3], [1, 3]] {
                #expect(try await fixture.parts("a", numbers).verdict == "400 invalid-request")
            }
            #expect(try await fixture.parts("a", []).verdict == "400 invalid-request")
            #expect(try await fixture.parts("a", [1, 1]).verdict == "400 invalid-request")
        }
    }

    /// A store may forget what nobody goes on with.
    @Test func anUploadThatTheStoreHasGivenUpBeginsAnew() async throws {
        try await with { fixture, store in
            try #require(try await fixture.upload(Self.large).status == 200)
            store.state.withLock { $0.uploads = [:] }
            #expect(try await fixture.upload(Self.large).status == 200)
            #expect(try await fixture.record("a", "upload") == "upload-2")
            store.state.withLock { $0.uploads = [:] }
            #expect(try await fixture.complete("a").verdict == "409 not-stored")
            #expect(try await fixture.record("a", "upload") == nil)
            #expect(try await fixture.parts("a", [1]).verdict == "409 not-stored")
            #expect(try await fixture.upload(Self.large).status == 200)
            #expect(try await fixture.record("a", "upload") == "upload-3")
        }
    }

    /// The answer to a completion was lost, or the backend ended before it could record it.
    @Test func whatIsCompleteAlreadyIsReady() async throws {
        for calls in 0..<3 {
            try await with { fixture, store in
                try #require(try await fixture.upload(Self.large).status == 200)
                store.put(try await fixture.key("a"), size: Self.part + 5)
                if calls != 1 { store.state.withLock { $0.uploads = [:] } }
                let answer =
                    calls == 2
                    ? try await fixture.upload(Self.large) : try await fixture.complete("a")
                #expect(answer.status == (calls == 2 ? 200 : 204))
                #expect(try await fixture.record("a", "state") == "ready")
                #expect(store.state.withLock { $0.uploads.isEmpty }, "what is left of its parts goes")
            }
        }
    }

    @Test func anUploadThatCannotBeginIsAskedForAgain() async throws {
        try await with { fixture, store in
            store.fail([.createMultipart], with: Self.away)
            expectUnavailable(try await fixture.upload(Self.large))
            #expect(try await fixture.record("a", "state || coalesce(upload, '')") == "pending")
            store.fail(with: nil)
            #expect(try await fixture.upload(Self.large).status == 200)
            #expect(try await fixture.record("a", "upload") == "upload-1")
        }
    }

    @Test func deletingEndsAnUploadInParts() async throws {
        try await with { fixture, store in
            try #require(try await fixture.upload(Self.large).status == 200)
            try await fixture.execute("DELETE FROM notes")
            #expect(try await fixture.delete("a").status == 204)
            #expect(store.state.withLock { $0.uploads.isEmpty })
            #expect(store.count(.abortMultipart) == 1)
        }
    }

    // MARK: The quota

    @Test func whatIsDeletedCountsNoMore() async throws {
        try await AttachmentsFixture.withScripted({ $0.attachments?.policy.userFiles = 2 }) {
            fixture, store in
            for id in ["a", "b", "c"] { try await fixture.note(id, of: "alice", photo: id) }
            try await fixture.note("d", of: "bob", photo: "d")
            try await fixture.keep("a", in: store)
            try #require(try await fixture.upload("b").status == 200)
            #expect(try await fixture.upload("c").verdict == "429 quota-exceeded")
            #expect(try await fixture.upload("b").status == 200, "what is on its way goes on")
            #expect(try await fixture.upload("d", as: "bob").status == 200, "everybody has a quota")
            try await fixture.execute("UPDATE notes SET photo_id = NULL WHERE id = 'a'")
            #expect(try await fixture.delete("a").status == 204)
            #expect(try await fixture.upload("c").status == 200)
        }
    }

    /// Whoever deletes what is on its way may still send it.
    @Test func whatAURLMayStillBringCounts() async throws {
        try await AttachmentsFixture.withScripted({ $0.attachments?.policy.userBytes = 10 }) { fixture, _ in
            for id in ["a", "b"] { try await fixture.note(id, of: "alice", photo: id) }
            let six = [UInt8](repeating: 1, count: 6)
            try #require(try await fixture.upload("a", six).status == 200)
            try await fixture.execute("UPDATE notes SET photo_id = NULL WHERE id = 'a'")
            try #require(try await fixture.delete("a").status == 204)
            #expect(try await fixture.upload("b", six).verdict == "429 quota-exceeded")
            fixture.pass(AttachmentRules.settled - 1)
            #expect(try await fixture.upload("b", six).verdict == "429 quota-exceeded")
            fixture.pass(1)
            #expect(try await fixture.upload("b", six).verdict == "429 quota-exceeded", "nobody has looked")
            #expect(try await fixture.sweep().removed == 1)
            #expect(try await fixture.upload("b", six).status == 200)
        }
    }

    /// A key without the right to delete is found out by nobody else.
    @Test func whatAStoreKeepsCounts() async throws {
        try await AttachmentsFixture.withScripted({ $0.attachments?.policy.userBytes = 5 }) {
            fixture, store in
            for id in ["a", "b"] { try await fixture.note(id, of: "alice", photo: id) }
            try await fixture.keep("a", in: store)
            fixture.pass(AttachmentRules.settled)
            store.fail([.delete], with: ObjectStoreError(.refused, "no rights"))
            try await fixture.execute("UPDATE notes SET photo_id = NULL WHERE id = 'a'")
            #expect(try await fixture.delete("a").status == 204)
            #expect(try await fixture.upload("b").verdict == "429 quota-exceeded")
            for _ in 0..<3 {
                fixture.pass(86_400)
                await #expect(throws: Problem.self) { try await fixture.sweep() }
            }
            #expect(try await fixture.upload("b").verdict == "429 quota-exceeded")
            store.fail(with: nil)
            fixture.pass(AttachmentRules.pause)
            #expect(try await fixture.sweep().removed == 1)
            #expect(store.keys.isEmpty)
            #expect(try await fixture.upload("b").status == 200)
        }
    }

    @Test func idsAreNotKeptWithoutEnd() async throws {
        try await AttachmentsFixture.withScripted({ $0.attachments?.policy.userFiles = 2 }) { fixture, _ in
            for id in ["a", "b", "c"] {
                try await fixture.note(id, of: "alice", photo: id)
                let answer = try await fixture.upload(id)
                #expect(answer.verdict == (id == "c" ? "429 quota-exceeded" : "200"), "\(id)")
                guard id != "c" else { break }
                try await fixture.execute("UPDATE notes SET photo_id = NULL")
                #expect(try await fixture.delete(id).status == 204)
            }
            fixture.pass(AttachmentRules.kept)
            #expect(try await fixture.sweep().forgotten == 2)
            #expect(try await fixture.upload("c").status == 200)
        }
    }

    @Test func typesThatAreNotTakenAreRefused() async throws {
        try await AttachmentsFixture.withScripted({ $0.attachments?.policy.types = ["image/*"] }) {
            fixture, _ in
            for id in ["a", "b"] { try await fixture.note(id, of: "alice", photo: id) }
            let text = try await fixture.upload(AttachmentsFixture.question("a", [1], type: "text/html"))
            #expect(text.verdict == "415 unsupported-media-type" && text.json["retryable"] == .bool(false))
            #expect(try await fixture.record("a", "state") == nil)
            let image = try await fixture.upload(
                AttachmentsFixture.question("a", [1], type: "Image/PNG; q=1"))
            #expect(image.status == 200)
            // Nobody learns more than that there is nothing for him.
            let foreign = try await fixture.upload(
                AttachmentsFixture.question("a", [1], type: "text/html", size: 1 << 50), as: "bob")
            #expect(foreign.verdict == "404 unknown")
        }
    }
}
