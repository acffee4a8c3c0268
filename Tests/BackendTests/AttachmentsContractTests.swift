import PowerSyncHTTPClient
import Foundation
import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// The cases of backend 9, I, with each store and its URLs used over a socket.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct AttachmentsContractTests {
    @Test(
        "148: upload-url, PUT bytes, confirm, download-url, GET: identical bytes, right type",
        arguments: AttachmentsFixture.Store.all)
    func bytesComeBack(_ store: AttachmentsFixture.Store) async throws {
        try await AttachmentsFixture.with(in: store) { fixture in
            for (number, count) in [0, 1, 70_000, Int(AttachmentPart.size) - 1].enumerated() {
                let (id, bytes) = ("a\(number)", (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) })
                try await fixture.note("n\(number)", of: "alice", photo: id, friend: "carol")
                let question = AttachmentsFixture.question(
                    id, bytes, type: "image/png", filename: "a b \(number).png")
                let ticket = try await fixture.upload(question)
                try #require(ticket.status == 200, "\(ticket.json.text)")
                #expect(ticket.json["method"] == .string("PUT"))
                #expect(try await fixture.put(ticket.json, bytes).status == 200)
                #expect(try await fixture.complete(id).status == 204)
                for (user, query, kind) in [
                    ("alice", "", "attachment"), ("carol", "?disposition=inline", "inline"),
                ] {
                    let download = try await fixture.download(id, as: user, query)
                    try #require(download.status == 200, "\(download.json.text)")
                    #expect(download.json["size"] == .integer(count))
                    let answer = try await fixture.get(
                        try #require(download.json["downloadUrl"]?.stringValue))
                    #expect(answer.status == 200 && answer.body == bytes)
                    #expect(answer.fields["content-type"] == "image/png")
                    #expect(answer.fields["content-disposition"]?.hasPrefix(kind) == true)
                    #expect(store == .s3 || answer.fields["x-content-type-options"] == "nosniff")
                }
            }
        }
    }

    @Test(
        "149: PUT with other content type, size or checksum than signed: storage refuses",
        arguments: AttachmentsFixture.Store.all)
    func otherThanSignedIsRefused(_ store: AttachmentsFixture.Store) async throws {
        try await AttachmentsFixture.with(in: store) { fixture in
            let bytes: [UInt8] = Array(0..<100)
            try await fixture.note("n", of: "alice", photo: "a")
            let ticket = try await fixture.upload("a", bytes).json
            let others = Digest.sha256([1])
            #expect(
                try await fixture.put(ticket, bytes) { $0.fields["content-type"] = "text/html" }.status == 403
            )
            #expect(try await fixture.put(ticket, bytes) { $0.fields["if-none-match"] = nil }.status == 403)
            #expect(
                try await fixture.put(ticket, bytes) {
                    $0.fields["x-amz-checksum-sha256"] = Base64.encode(others)
                }.status == 403)
            #expect(try await fixture.put(ticket, bytes + [0]).status == 403)
            #expect(try await fixture.put(ticket, Array(bytes.dropLast())).status == 403)
            #expect(try await fixture.put(ticket, Array(bytes.reversed())).status == 400, "other bytes")
            #expect(try await !fixture.isStored(fixture.key("a")))
            #expect(try await fixture.complete("a").verdict == "409 not-stored")
            #expect(try await fixture.put(ticket, bytes).status == 200, "none of it has used the URL up")
        }
    }

    @Test(
        "150: expired URL, altered signature, other method, other key: 403",
        arguments: AttachmentsFixture.Store.all)
    func otherRequestsAreRefused(_ store: AttachmentsFixture.Store) async throws {
        try await AttachmentsFixture.with(in: store) { fixture in
            let bytes: [UInt8] = [1, 2, 3]
            for id in ["a", "b"] { try await fixture.note(id, of: "alice", photo: id) }
            try await fixture.keep("b", [4, 5, 6])
            let ticket = try await fixture.upload("a", bytes).json
            let url = try #require(ticket["uploadUrl"]?.stringValue)
            let (key, other) = (try await fixture.key("a"), try await fixture.key("b"))
            let last = try #require(url.last)
            for altered in [
                url.replacing(key, with: other), String(url.dropLast()) + (last == "0" ? "1" : "0"),
                // As either store spells it.
                url.replacing("exp=", with: "exp=1").replacing("-Expires=", with: "-Expires=1"),
            ] {
                #expect(altered != url)
                #expect(try await fixture.put(ticket, bytes) { $0.url = altered }.status == 403)
            }
            #expect(try await fixture.get(url).status == 403, "another method")
            // What a service does not know at all it need not check.
            let methods = store == .disk ? ["POST", "PATCH", "DELETE", "HEAD"] : ["DELETE", "HEAD"]
            for method in methods {
                let other = try await fixture.send(HTTPClientRequest(method: method, url: url))
                #expect(other.status == 403, "\(method)")
            }
            let late = try await fixture.earlier(15 * 60 + 1) { try await fixture.upload("a", bytes).json }
            #expect(try await fixture.put(late, bytes).status == 403)
            // Asked again, it is signed again.
            let later = try await fixture.upload("a", bytes).json
            #expect(try await fixture.put(later, bytes).status == 200)
            #expect(try await fixture.complete("a").status == 204)

            let download = try #require(try await fixture.download("a").json["downloadUrl"]?.stringValue)
            #expect(try await fixture.get(download.replacing(key, with: other)).status == 403)
            #expect(try await fixture.put(ticket, bytes) { $0.url = download }.status == 403)
            #expect(try await fixture.get(download.replacing("attachment", with: "inline")).status == 403)
            for method in methods {
                let other = try await fixture.send(HTTPClientRequest(method: method, url: download))
                #expect(other.status == 403, "\(method)")
            }
            #expect(try await fixture.get(download).body == bytes)
            let former = try await fixture.earlier(5 * 60 + 1) { try await fixture.download("a").json }
            #expect(try await fixture.get(try #require(former["downloadUrl"]?.stringValue)).status == 403)
        }
    }

    @Test(
        "151: upload-url for an id owned by another user: 404 problem",
        arguments: AttachmentsFixture.Store.all)
    func anIdOfAnotherIsUnknown(_ store: AttachmentsFixture.Store) async throws {
        try await AttachmentsFixture.with(in: store) { fixture in
            try await fixture.note("n", of: "alice", photo: "a")
            try await fixture.keep("a")
            let answer = try await fixture.upload("a", [9], as: "bob")
            #expect(answer.verdict == "404 unknown")
            #expect(answer.fields["content-type"] == "application/problem+json")
            #expect(answer.json["uploadUrl"] == nil)
        }
    }

    @Test(
        "152: filename ../../x, 1 kB name, .html, NUL: sanitised key, never used as path",
        arguments: AttachmentsFixture.Store.all)
    func aNameIsNeverAPath(_ store: AttachmentsFixture.Store) async throws {
        try await AttachmentsFixture.with(in: store) { fixture in
            let names = [
                "../../x", "/etc/passwd", String(repeating: "n", count: 1_024), "page.html", "a\u{0}b.png",
                "",
                "..", #"..\..\x"#,
            ]
            for (number, name) in names.enumerated() {
                let id = "a\(number)"
                try await fixture.note(id, of: "alice", photo: id)
                let question = AttachmentsFixture.question(id, [1, 2, 3], type: "text/html", filename: name)
                let ticket = try await fixture.upload(question)
                try #require(ticket.status == 200, "\(name): \(ticket.json.text)")
                #expect(try await fixture.put(ticket.json, [1, 2, 3]).status == 200)
                #expect(try await fixture.complete(id).status == 204)
                let key = try await fixture.key(id)
                #expect(key.utf8.allSatisfy { $0.isLetterDigitOrDash })
                let download = try await fixture.download(id, "?disposition=inline").json
                let answer = try await fixture.get(try #require(download["downloadUrl"]?.stringValue))
                #expect(answer.status == 200)
                let disposition = try #require(answer.fields["content-disposition"])
                #expect(disposition.hasPrefix("attachment"), "a browser runs nothing of it")
                #expect(!disposition.contains("/") && !disposition.contains("\\"))
            }
            guard store == .disk else { return }
            let stored = fixture.files()
            #expect(stored.count == names.count)
            #expect(
                stored.allSatisfy { $0.utf8.allSatisfy { $0.isLetterDigitOrDash || $0 == UInt8(ascii: "/") } }
            )
            let above = FileManager.default.enumerator(atPath: fixture.folder + "/..")?.allObjects ?? []
            #expect(!above.contains { ($0 as? String)?.split(separator: "/").last == "x" })
        }
    }

    @Test(
        "153: re-upload same id, same bytes: idempotent; different bytes: 409",
        arguments: AttachmentsFixture.Store.all)
    func anIdIsOfTheSameBytes(_ store: AttachmentsFixture.Store) async throws {
        try await AttachmentsFixture.with(in: store) { fixture in
            let bytes: [UInt8] = [1, 2, 3]
            try await fixture.note("n", of: "alice", photo: "a")
            let first = try await fixture.upload("a", bytes).json
            let second = try await fixture.upload("a", bytes).json
            #expect(try await fixture.put(first, bytes).status == 200)
            #expect(try await fixture.put(second, bytes).status == 412, "nothing is stored over it")
            #expect(try await fixture.put(first, bytes).status == 412)
            #expect(try await fixture.upload("a", [3, 2, 1]).verdict == "409 conflict")
            for _ in 0..<2 { #expect(try await fixture.complete("a").status == 204) }
            let again = try await fixture.upload("a", bytes).json
            #expect(again["alreadyUploaded"] == .bool(true) && again["uploadUrl"] == nil)
            #expect(try await fixture.upload("a", [3, 2, 1]).verdict == "409 conflict")
            let download = try #require(try await fixture.download("a").json["downloadUrl"]?.stringValue)
            #expect(try await fixture.get(download).body == bytes)
        }
    }

    @Test(
        "154: delete twice: 204, 204",
        arguments: AttachmentsFixture.Store.all)
    func deletingTwice(_ store: AttachmentsFixture.Store) async throws {
        try await AttachmentsFixture.with(in: store) { fixture in
            try await fixture.note("n", of: "alice", photo: "a")
            try await fixture.keep("a")
            let download = try #require(try await fixture.download("a").json["downloadUrl"]?.stringValue)
            let key = try await fixture.key("a")
            #expect(try await fixture.isStored(key))
            try await fixture.execute("UPDATE notes SET photo_id = NULL")
            for _ in 0..<2 {
                let answer = try await fixture.delete("a")
                #expect(answer.status == 204 && answer.json.isNull)
            }
            #expect(try await !fixture.isStored(key))
            #expect(try await fixture.get(download).status == 404, "also with a URL of before")
        }
    }

    @Test(
        "155: download before upload finished: 404 not-uploaded, retryable",
        arguments: AttachmentsFixture.Store.all)
    func whatIsOnItsWayMayBeAskedForAgain(_ store: AttachmentsFixture.Store) async throws {
        try await AttachmentsFixture.with(in: store) { fixture in
            try await fixture.note("n", of: "alice", photo: "a", friend: "carol")
            #expect(try await fixture.download("a", as: "carol").verdict == "404 unknown")
            let ticket = try await fixture.upload("a").json
            let early = try await fixture.download("a", as: "carol")
            #expect(early.verdict == "404 not-uploaded" && early.json["retryable"] == .bool(true))
            #expect(try await fixture.put(ticket, [1, 2, 3]).status == 200)
            // Nobody has said that it is complete: the store says so.
            #expect(try await fixture.download("a", as: "carol").status == 200)
        }
    }

    @Test(
        "156: over quota, over max size: 413 and 429 problem before any byte is stored",
        arguments: AttachmentsFixture.Store.all)
    func moreThanAllowedIsRefusedFirst(_ store: AttachmentsFixture.Store) async throws {
        try await AttachmentsFixture.with(
            in: store,
            {
                $0.attachments?.policy.fileBytes = 100
                $0.attachments?.policy.userBytes = 150
            }
        ) { fixture in
            for id in ["a", "b", "c"] { try await fixture.note(id, of: "alice", photo: id) }
            let large = try await fixture.upload(AttachmentsFixture.question("a", [], size: 101))
            #expect(large.verdict == "413 too-large" && large.json["limit"] == .integer(100))
            #expect(large.json["retryable"] == .bool(false))
            try await fixture.keep("a", Array(repeating: 1, count: 100))
            let over = try await fixture.upload(AttachmentsFixture.question("b", [], size: 51))
            #expect(over.verdict == "429 quota-exceeded" && over.fields["retry-after"] != nil)
            #expect(over.json["code"] == .string("QUOTA_EXCEEDED"))
            #expect(try await fixture.record("b", "state") == nil)
            #expect(try await fixture.upload(AttachmentsFixture.question("c", [], size: 50)).status == 200)
            for (id, isStored) in [("a", true), ("c", false)] {
                #expect(try await fixture.isStored(fixture.key(id)) == isStored, "\(id)")
            }
        }
    }

    // MARK: In parts

    @Test(arguments: AttachmentsFixture.Store.all)
    func aLargeFileGoesInPartsAndIsGoneOnWith(_ store: AttachmentsFixture.Store) async throws {
        try await AttachmentsFixture.with(in: store) { fixture in
            let part = Int(AttachmentPart.size)
            let bytes = (0..<part + 5).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            try await fixture.note("n", of: "alice", photo: "a")
            let ticket = try await fixture.upload("a", bytes)
            try #require(ticket.status == 200, "\(ticket.json.text)")
            #expect(ticket.json["uploadUrl"] == nil && ticket.json["alreadyUploaded"] == .bool(false))
            #expect(ticket.json["multipart"]?["partSize"] == .integer(part))
            #expect(ticket.json["multipart"]?["partCount"] == .integer(2))
            #expect(ticket.json["multipart"]?["uploaded"] == .array([]))
            let pieces = [Array(bytes[..<part]), Array(bytes[part...])]
            func put(_ number: Int) async throws -> Int {
                let request = AttachmentPartsRequest(parts: [
                    AttachmentPart(
                        number: number, sha256: Hexadecimal.encode(Digest.sha256(pieces[number - 1])))
                ])
                let answer = try await fixture.send("POST", "/a/parts", request.json.text)
                let signed = try #require(answer.json["parts"]?.arrayValue?.first, "\(answer.json.text)")
                #expect(signed["number"] == .integer(number))
                return try await fixture.put(signed, pieces[number - 1]).status
            }
            #expect(try await put(2) == 200)
            #expect(try await fixture.complete("a").verdict == "409 not-stored")
            #expect(
                try await fixture.upload("a", bytes).json["multipart"]?["uploaded"] == .array([.integer(2)]))
            #expect(try await put(1) == 200)
            #expect(try await fixture.complete("a").status == 204)
            #expect(store == .s3 || fixture.files().count == 1 && fixture.files("parts").isEmpty)
            #expect(try await fixture.upload("a", bytes).json["alreadyUploaded"] == .bool(true))
            let download = try #require(try await fixture.download("a").json["downloadUrl"]?.stringValue)
            #expect(try await fixture.get(download).body == bytes)
            #expect(try await fixture.parts("a", [1]).verdict == "409 conflict")
        }
    }

    /// Each part is as it says, and the whole is not what was announced: nobody else would notice before a download.
    @Test func aWholeOfOtherBytesThanWereAnnouncedIsNotStored() async throws {
        try await AttachmentsFixture.with { fixture in
            let part = Int(AttachmentPart.size)
            let others = [UInt8](repeating: 2, count: part + 1)
            try await fixture.note("n", of: "alice", photo: "a")
            try #require(try await fixture.upload("a", [UInt8](repeating: 1, count: part + 1)).status == 200)
            for (number, bytes) in [(1, Array(others[..<part])), (2, Array(others[part...]))] {
                let request = AttachmentPartsRequest(parts: [
                    AttachmentPart(number: number, sha256: Hexadecimal.encode(Digest.sha256(bytes)))
                ])
                let signed = try await fixture.send("POST", "/a/parts", request.json.text).json["parts"]
                #expect(try await fixture.put(try #require(signed?.arrayValue?.first), bytes).status == 200)
            }
            #expect(try await fixture.complete("a").verdict == "409 not-stored")
            #expect(try await fixture.download("a").verdict == "404 not-uploaded")
            #expect(fixture.files().isEmpty)
        }
    }

    /// By it the store gives each user places of his own, whatever he does.
    @Test func allURLsOfAUserNameHim() async throws {
        try await AttachmentsFixture.with { fixture in
            func name(_ url: JSON?) throws -> String {
                let query = try #require(url?.stringValue?.split(separator: "?").last)
                let pair = try #require(query.split(separator: "&").first(where: { $0.hasPrefix("user=") }))
                return String(pair.dropFirst("user=".count))
            }
            var users: [String: Set<String>] = [:]
            for user in ["alice", "bob"] {
                let (small, large) = ("\(user)-small", "\(user)-large")
                for id in [small, large] { try await fixture.note(id, of: user, photo: id) }
                let question = AttachmentsFixture.question(large, [], size: AttachmentPart.size + 1)
                try #require(try await fixture.upload(question, as: user).status == 200)
                let parts = try await fixture.parts(large, [2], as: user).json["parts"]?.arrayValue
                let ticket = try await fixture.upload(small, as: user).json
                try #require(try await fixture.put(ticket, [1, 2, 3]).status == 200)
                let download = try await fixture.download(small, as: user).json
                users[user] = [
                    try name(ticket["uploadUrl"]), try name(parts?.first?["uploadUrl"]),
                    try name(download["downloadUrl"]),
                ]
            }
            let (alice, bob) = (try #require(users["alice"]), try #require(users["bob"]))
            #expect(alice.count == 1 && bob.count == 1)
            #expect(alice.isDisjoint(with: bob) && !alice.contains(""))
        }
    }

    @Test func whatIsSweptLeavesTheFolder() async throws {
        try await AttachmentsFixture.with { fixture in
            let part = Int(AttachmentPart.size)
            for id in ["a", "b"] { try await fixture.note(id, of: "alice", photo: id) }
            try await fixture.keep("a")
            let large = [UInt8](repeating: 1, count: part + 1)
            try #require(try await fixture.upload("b", large).status == 200)
            let request = AttachmentPartsRequest(parts: [
                AttachmentPart(number: 2, sha256: Hexadecimal.encode(Digest.sha256([1])))
            ])
            let signed = try await fixture.send("POST", "/b/parts", request.json.text).json["parts"]
            #expect(try await fixture.put(try #require(signed?.arrayValue?.first), [1]).status == 200)
            #expect(!fixture.files("parts").isEmpty)
            fixture.pass(86_401)
            let outcome = try await fixture.sweep()
            #expect(outcome.unfinished == 1)
            #expect(fixture.files().count == 1 && fixture.files("parts").isEmpty)
            #expect(try await fixture.download("a").status == 200)
        }
    }
}

extension UInt8 {
    /// Whether a byte is one of those that keys are made of.
    fileprivate var isLetterDigitOrDash: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) || self == UInt8(ascii: "-")
    }
}
