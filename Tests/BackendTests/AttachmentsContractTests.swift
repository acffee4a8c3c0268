import PowerSyncHTTPClient
import Foundation
import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// The cases of backend 9, I, with the disk store and its URLs used over a socket.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct AttachmentsContractTests {
    /// All files below the folder of the store.
    private func files(_ fixture: AttachmentsFixture, _ part: String = "objects") -> [String] {
        let found = FileManager.default.enumerator(atPath: fixture.folder + "/" + part)?.allObjects ?? []
        return found.compactMap { $0 as? String }.filter { path in
            var isFolder: ObjCBool = false
            let whole = fixture.folder + "/" + part + "/" + path
            return FileManager.default.fileExists(atPath: whole, isDirectory: &isFolder)
                && !isFolder.boolValue
        }
    }

    @Test("148: upload-url, PUT bytes, confirm, download-url, GET: identical bytes, right type")
    func bytesComeBack() async throws {
        try await AttachmentsFixture.with { fixture in
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
                    #expect(answer.fields["x-content-type-options"] == "nosniff")
                }
            }
        }
    }

    @Test("149: PUT with other content type, size or checksum than signed: storage refuses")
    func otherThanSignedIsRefused() async throws {
        try await AttachmentsFixture.with { fixture in
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
            #expect(files(fixture).isEmpty)
            #expect(try await fixture.complete("a").verdict == "409 not-stored")
            #expect(try await fixture.put(ticket, bytes).status == 200, "none of it has used the URL up")
        }
    }

    @Test("150: expired URL, altered signature, other method, other key: 403")
    func otherRequestsAreRefused() async throws {
        try await AttachmentsFixture.with { fixture in
            let bytes: [UInt8] = [1, 2, 3]
            for id in ["a", "b"] { try await fixture.note(id, of: "alice", photo: id) }
            try await fixture.keep("b", [4, 5, 6])
            let ticket = try await fixture.upload("a", bytes).json
            let url = try #require(ticket["uploadUrl"]?.stringValue)
            let (key, other) = (try await fixture.key("a"), try await fixture.key("b"))
            let last = try #require(url.last)
            for altered in [
                url.replacing(key, with: other), String(url.dropLast()) + (last == "0" ? "1" : "0"),
                url.replacing("exp=", with: "exp=1"),
            ] {
                #expect(try await fixture.put(ticket, bytes) { $0.url = altered }.status == 403)
            }
            #expect(try await fixture.get(url).status == 403, "another method")
            for method in ["POST", "PATCH", "DELETE", "HEAD"] {
                let other = try await fixture.send(HTTPClientRequest(method: method, url: url))
                #expect(other.status == 403, "\(method)")
            }
            fixture.pass(15 * 60 + 1)
            #expect(try await fixture.put(ticket, bytes).status == 403)
            // Asked again, it is signed again.
            let later = try await fixture.upload("a", bytes).json
            #expect(try await fixture.put(later, bytes).status == 200)
            #expect(try await fixture.complete("a").status == 204)

            let download = try #require(try await fixture.download("a").json["downloadUrl"]?.stringValue)
            #expect(try await fixture.get(download.replacing(key, with: other)).status == 403)
            #expect(try await fixture.put(ticket, bytes) { $0.url = download }.status == 403)
            #expect(try await fixture.get(download.replacing("attachment", with: "inline")).status == 403)
            for method in ["POST", "PATCH", "DELETE", "HEAD"] {
                let other = try await fixture.send(HTTPClientRequest(method: method, url: download))
                #expect(other.status == 403, "\(method)")
            }
            #expect(try await fixture.get(download).body == bytes)
            fixture.pass(5 * 60 + 1)
            #expect(try await fixture.get(download).status == 403)
        }
    }

    @Test("151: upload-url for an id owned by another user: 404 problem")
    func anIdOfAnotherIsUnknown() async throws {
        try await AttachmentsFixture.with { fixture in
            try await fixture.note("n", of: "alice", photo: "a")
            try await fixture.keep("a")
            let answer = try await fixture.upload("a", [9], as: "bob")
            #expect(answer.verdict == "404 unknown")
            #expect(answer.fields["content-type"] == "application/problem+json")
            #expect(answer.json["uploadUrl"] == nil)
        }
    }

    @Test("152: filename ../../x, 1 kB name, .html, NUL: sanitised key, never used as path")
    func aNameIsNeverAPath() async throws {
        try await AttachmentsFixture.with { fixture in
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
            let stored = files(fixture)
            #expect(stored.count == names.count)
            #expect(
                stored.allSatisfy { $0.utf8.allSatisfy { $0.isLetterDigitOrDash || $0 == UInt8(ascii: "/") } }
            )
            let above = FileManager.default.enumerator(atPath: fixture.folder + "/..")?.allObjects ?? []
            #expect(!above.contains { ($0 as? String)?.split(separator: "/").last == "x" })
        }
    }

    @Test("153: re-upload same id, same bytes: idempotent; different bytes: 409")
    func anIdIsOfTheSameBytes() async throws {
        try await AttachmentsFixture.with { fixture in
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

    @Test("154: delete twice: 204, 204")
    func deletingTwice() async throws {
        try await AttachmentsFixture.with { fixture in
            try await fixture.note("n", of: "alice", photo: "a")
            try await fixture.keep("a")
            let download = try #require(try await fixture.download("a").json["downloadUrl"]?.stringValue)
            #expect(files(fixture).count == 1)
            try await fixture.execute("UPDATE notes SET photo_id = NULL")
            for _ in 0..<2 {
                let answer = try await fixture.delete("a")
                #expect(answer.status == 204 && answer.json.isNull)
            }
            #expect(files(fixture).isEmpty)
            #expect(try await fixture.get(download).status == 404, "also with a URL of before")
        }
    }

    @Test("155: download before upload finished: 404 not-uploaded, retryable")
    func whatIsOnItsWayMayBeAskedForAgain() async throws {
        try await AttachmentsFixture.with { fixture in
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

    @Test("156: over quota, over max size: 413 and 429 problem before any byte is stored")
    func moreThanAllowedIsRefusedFirst() async throws {
        try await AttachmentsFixture.with({
            $0.attachments?.policy.fileBytes = 100
            $0.attachments?.policy.userBytes = 150
        }) { fixture in
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
            #expect(files(fixture).count == 1)
        }
    }

    // MARK: In parts

    @Test func aLargeFileGoesInPartsAndIsGoneOnWith() async throws {
        try await AttachmentsFixture.with { fixture in
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
            #expect(files(fixture).count == 1 && files(fixture, "parts").isEmpty)
            #expect(try await fixture.upload("a", bytes).json["alreadyUploaded"] == .bool(true))
            let download = try #require(try await fixture.download("a").json["downloadUrl"]?.stringValue)
            #expect(try await fixture.get(download).body == bytes)
            #expect(try await fixture.parts("a", [1]).verdict == "409 conflict")
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
            #expect(!files(fixture, "parts").isEmpty)
            fixture.pass(86_401)
            let outcome = try await fixture.sweep()
            #expect(outcome.unfinished == 1)
            #expect(files(fixture).count == 1 && files(fixture, "parts").isEmpty)
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
