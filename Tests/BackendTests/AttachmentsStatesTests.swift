import PowerSyncHTTP
import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What comes of each request in each state (Backend/Attachments/SPEC.md, States of an attachment).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct AttachmentsStatesTests {
    private enum State: String, CaseIterable, Sendable { case none, pending, ready, deleted }

    private static let bytes: [UInt8] = [1, 2, 3]

    /// Lets a test have an attachment in a state, and the row that names it.
    private func with(
        _ state: State, _ body: (AttachmentsFixture, ScriptedStore) async throws -> Void
    ) async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "a")
            switch state {
            case .none: break
            case .pending: try #require(try await fixture.upload("a", Self.bytes).status == 200)
            case .ready, .deleted: try await fixture.keep("a", in: store, Self.bytes)
            }
            if state == .deleted {
                try await fixture.execute("UPDATE notes SET photo_id = NULL")
                try #require(try await fixture.delete("a").status == 204)
                try await fixture.execute("UPDATE notes SET photo_id = 'a'")
            }
            try await body(fixture, store)
        }
    }

    /// The answers in the states, in the order of `State.allCases`.
    private func expect(
        _ verdicts: [String], then states: [String?], sourceLocation: SourceLocation = #_sourceLocation,
        _ request: (AttachmentsFixture) async throws -> TestBackend.Answer
    ) async throws {
        for (number, state) in State.allCases.enumerated() {
            try await with(state) { fixture, _ in
                let answer = try await request(fixture)
                #expect(
                    answer.verdict == verdicts[number], "\(state): \(answer.json.text)",
                    sourceLocation: sourceLocation)
                #expect(
                    try await fixture.record("a", "state") == states[number], "\(state)",
                    sourceLocation: sourceLocation)
            }
        }
    }

    @Test func theSameUpload() async throws {
        try await expect(
            ["200", "200", "200", "410 gone"], then: ["pending", "pending", "ready", "deleted"]
        ) { try await $0.upload("a", Self.bytes) }
    }

    @Test func whetherAnUploadIsStillWantedIsSaid() async throws {
        for (state, isUploaded) in [(State.none, false), (.pending, false), (.ready, true)] {
            try await with(state) { fixture, _ in
                let ticket = try await fixture.upload("a", Self.bytes).json
                #expect(ticket["id"] == .string("a") && ticket["alreadyUploaded"] == .bool(isUploaded))
                #expect((ticket["uploadUrl"] != nil) == !isUploaded)
            }
        }
        try await with(.pending) { fixture, store in
            store.put(try await fixture.key("a"), size: 3, sha256: Digest.sha256(Self.bytes))
            #expect(try await fixture.upload("a", Self.bytes).json["alreadyUploaded"] == .bool(true))
            #expect(try await fixture.record("a", "state") == "ready")
        }
    }

    @Test func anUploadOfOtherBytes() async throws {
        let others = [
            AttachmentsFixture.question("a", [1, 2, 4]),
            AttachmentsFixture.question("a", Self.bytes, type: "image/jpeg"),
            AttachmentsFixture.question("a", Self.bytes, size: 4),
        ]
        for other in others {
            try await expect(
                ["200", "409 conflict", "409 conflict", "410 gone"],
                then: ["pending", "pending", "ready", "deleted"]
            ) { try await $0.upload(other) }
        }
    }

    /// The name is no part of what a file is.
    @Test func anotherNameIsTheSameUpload() async throws {
        let other = AttachmentsFixture.question("a", Self.bytes, filename: "other.png")
        try await expect(
            ["200", "200", "200", "410 gone"], then: ["pending", "pending", "ready", "deleted"]
        ) { try await $0.upload(other) }
    }

    @Test func completion() async throws {
        try await expect(
            ["404 unknown", "409 not-stored", "204", "410 gone"], then: [nil, "pending", "ready", "deleted"]
        ) { try await $0.complete("a") }
        try await with(.pending) { fixture, store in
            #expect(try await fixture.complete("a").json["retryable"] == .bool(true))
            store.put(try await fixture.key("a"), size: 3)
            #expect(try await fixture.complete("a").status == 204)
            #expect(try await fixture.record("a", "state") == "ready")
        }
    }

    /// What stands there in place of the bytes would keep them out for ever.
    @Test func bytesThatAreOthersAreRemoved() async throws {
        for object in [StoredObject(size: 4), StoredObject(size: 3, sha256: Digest.sha256([9]))] {
            try await with(.pending) { fixture, store in
                store.put(try await fixture.key("a"), size: object.size, sha256: object.sha256)
                #expect(try await fixture.download("a").verdict == "404 not-uploaded")
                #expect(!store.keys.isEmpty, "a download removes nothing")
                #expect(try await fixture.complete("a").verdict == "409 not-stored")
                #expect(store.keys.isEmpty)
                #expect(try await fixture.record("a", "state") == "pending")
            }
        }
    }

    @Test func parts() async throws {
        try await expect(
            ["404 unknown", "400 invalid-request", "409 conflict", "410 gone"],
            then: [nil, "pending", "ready", "deleted"]
        ) { try await $0.parts("a", [1]) }
    }

    @Test func downloads() async throws {
        try await expect(
            ["404 unknown", "404 not-uploaded", "200", "404 unknown"],
            then: [nil, "pending", "ready", "deleted"]
        ) { try await $0.download("a") }
        try await with(.pending) { fixture, store in
            #expect(try await fixture.download("a").json["retryable"] == .bool(true))
            store.put(try await fixture.key("a"), size: 3)
            let ticket = try await fixture.download("a")
            #expect(ticket.status == 200 && ticket.fields["cache-control"] == "no-store")
            #expect(ticket.json["size"] == .integer(3) && ticket.json["contentType"] == .string("image/png"))
            #expect(
                ticket.json["sha256"] == .string(Hexadecimal.encode(Digest.sha256(Self.bytes))))
            #expect(ticket.json["downloadUrl"] != nil && ticket.json["expiresAt"] != nil)
            #expect(try await fixture.record("a", "state") == "ready")
        }
    }

    @Test func deletingWhileARowNamesIt() async throws {
        try await expect(
            ["404 unknown", "409 still-referenced", "409 still-referenced", "204"],
            then: [nil, "pending", "ready", "deleted"]
        ) { try await $0.delete("a") }
        try await with(.ready) { fixture, store in
            let answer = try await fixture.delete("a")
            #expect(answer.json["retryable"] == .bool(true))
            #expect(store.keys.count == 1)
        }
    }

    @Test func deletingOnceNoRowDoes() async throws {
        try await expect(
            ["404 unknown", "204", "204", "204"], then: [nil, "deleted", "deleted", "deleted"]
        ) { fixture in
            try await fixture.execute("UPDATE notes SET photo_id = NULL")
            return try await fixture.delete("a")
        }
        try await with(.ready) { fixture, store in
            try await fixture.execute("DELETE FROM notes")
            for _ in 0..<2 { #expect(try await fixture.delete("a").status == 204) }
            #expect(store.keys.isEmpty)
            #expect(store.count(.delete) == 1, "the second one finds nothing to do")
        }
    }

    /// An id is never other bytes, whatever has become of the first.
    @Test func anIdIsKept() async throws {
        try await with(.deleted) { fixture, store in
            let answer = try await fixture.upload("a", [9])
            #expect(answer.verdict == "410 gone" && answer.json["retryable"] == .bool(false))
            #expect(store.keys.isEmpty)
        }
    }

    // MARK: Rules without a database

    @Test func whatIsInPartsIsCutExactly() {
        let part = AttachmentPart.size
        for (size, count, last) in [
            (part, 1, part), (part + 1, 2, 1), (2 * part - 1, 2, part - 1), (2 * part, 2, part),
            (10_000 * part, 10_000, part),
        ] as [(Int64, Int, Int64)] {
            #expect(AttachmentRules.isInParts(size))
            #expect(AttachmentRules.partCount(size) == count)
            #expect(AttachmentRules.partSize(count, of: size) == last)
            if count > 1 { #expect(AttachmentRules.partSize(1, of: size) == part) }
        }
        #expect(!AttachmentRules.isInParts(part - 1) && !AttachmentRules.isInParts(0))
    }

    @Test func partsCountIfTheyAreAsTheyMustBe() {
        let size = AttachmentPart.size + 5
        func part(_ number: Int, _ size: Int64) -> StoredPart {
            StoredPart(number: number, size: size, tag: "t")
        }
        let whole = [part(1, AttachmentPart.size), part(2, 5)]
        #expect(AttachmentRules.usable(whole.reversed(), of: size) == whole)
        #expect(AttachmentRules.isWhole(whole, of: size))
        let others = [part(0, 5), part(2, 4), part(3, 5), part(1, AttachmentPart.size)]
        #expect(AttachmentRules.usable(others, of: size) == [whole[0]])
        #expect(!AttachmentRules.isWhole([whole[0]], of: size) && !AttachmentRules.isWhole([], of: size))
    }

    @Test func digitsAreTheBytesThatTheySpell() {
        let digest = Digest.sha256([1, 2, 3])
        #expect(AttachmentRules.bytes(ofDigest: Hexadecimal.encode(digest)) == digest)
        #expect(AttachmentRules.bytes(ofDigest: "00ff0a") == [0, 255, 10])
        #expect(AttachmentRules.bytes(ofDigest: "") == [])
    }

    @Test(arguments: [
        ("a.png", "image/png", true, #"inline; filename="a.png"; filename*=UTF-8''a.png"#),
        ("a.png", "image/png", false, #"attachment; filename="a.png"; filename*=UTF-8''a.png"#),
        ("../../x", "image/png", false, #"attachment; filename="x"; filename*=UTF-8''x"#),
        (#"C:\x\y.png"#, "image/png", false, #"attachment; filename="y.png"; filename*=UTF-8''y.png"#),
        ("p.html", "text/html", true, #"attachment; filename="p.html"; filename*=UTF-8''p.html"#),
        ("p.svg", "image/svg+xml", true, #"attachment; filename="p.svg"; filename*=UTF-8''p.svg"#),
        ("n.txt", "text/plain; charset=utf-8", true, #"inline; filename="n.txt"; filename*=UTF-8''n.txt"#),
        (
            "é\"%.png", "image/png", false,
            #"attachment; filename="____.png"; filename*=UTF-8''%C3%A9%22%25.png"#
        ),
        ("a\u{0}\r\nb\u{202E}", "image/png", false, #"attachment; filename="ab"; filename*=UTF-8''ab"#),
        ("", "image/png", false, "attachment"), ("x/", "image/png", true, "inline"),
    ])
    func aNameIsNeverMoreThanAName(filename: String, type: String, wantsInline: Bool, value: String) {
        let request = AttachmentsFixture.question("a", [], type: type, filename: filename)
        let record = AttachmentRecord(
            request, key: "k", owner: "u", row: (Catalog.Name(schema: "public", table: "t"), nil))
        #expect(AttachmentRules.disposition(inline: wantsInline, record) == value)
    }

    /// It stands in a URL, which has a limit; the extension is at its end.
    @Test func ofALongNameTheEndIsKept() {
        let request = AttachmentsFixture.question(
            "a", [], filename: String(repeating: "é", count: 500) + ".png")
        let record = AttachmentRecord(
            request, key: "k", owner: "u", row: (Catalog.Name(schema: "public", table: "t"), nil))
        let value = AttachmentRules.disposition(inline: false, record)
        #expect(value.utf8.count < 1_000 && value.hasSuffix("%C3%A9.png"))
    }

    @Test func aPolicySaysWhatIsTaken() {
        var policy = AttachmentPolicy()
        #expect(policy.allows("anything/at-all"))
        policy.types = ["image/*", "application/pdf"]
        for (type, isTaken) in [
            ("image/png", true), ("IMAGE/PNG", true), ("image/png; a=b", true), ("application/pdf", true),
            ("application/pdfx", false), ("text/plain", false), ("imagex/png", false), ("image", false),
        ] {
            #expect(policy.allows(type) == isTaken, "\(type)")
        }
        policy.userBytes = 10
        policy.userFiles = 2
        #expect(policy.hasRoom(for: 4, beside: AttachmentUsage(files: 1, bytes: 6)))
        #expect(!policy.hasRoom(for: 5, beside: AttachmentUsage(files: 1, bytes: 6)))
        #expect(!policy.hasRoom(for: 0, beside: AttachmentUsage(files: 2, bytes: 0)))
        #expect(!policy.hasRoom(for: .max, beside: AttachmentUsage(files: 0, bytes: 1)))
    }
}
