import Foundation
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncBackend

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The URLs of the disk store: statuses, header fields, and what stays in the folder.
@Suite(.patient())
struct BlobRoutesTests {
    private typealias Body = DiskStoreFixture.Body

    private func with(
        _ fixture: DiskStoreFixture, _ body: (DiskStoreFixture) async throws -> Void
    ) async throws {
        defer { fixture.temporary.remove() }
        try await body(fixture)
        #expect(try fixture.files("incoming").isEmpty)
        #expect(fixture.routes.transferCount == 0)
        // Closed with its last reference, which a thread that has read it may have a moment longer.
        if Processes.areOpenFilesKnown {
            try await wait(for: "all files to be closed", read: { try fixture.openFiles }, until: \.isEmpty)
        }
    }

    private func with(_ body: (DiskStoreFixture) async throws -> Void) async throws {
        try await with(try DiskStoreFixture(), body)
    }

    /// Holds that the operator was told once, and nothing of what is stored.
    private func expectTold(
        _ reason: String, _ fixture: DiskStoreFixture, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let lines = fixture.lines.withLock { $0 }
        #expect(lines.count == 1 && lines[0].contains("ERROR"), "\(lines)", sourceLocation: sourceLocation)
        #expect(lines.last?.contains(reason) == true, "\(lines)", sourceLocation: sourceLocation)
        #expect(lines.last?.contains(fixture.folder) == false, "\(lines)", sourceLocation: sourceLocation)
    }

    // MARK: Storing

    @Test func aBodyInPiecesIsStoredUnderItsNameAlone() async throws {
        try await with { fixture in
            let bytes = randomBytes(1_000_000)
            let pieces = stride(from: 0, to: bytes.count, by: 70_000).map {
                Array(bytes[$0..<min($0 + 70_000, bytes.count)])
            }
            let answer = try await fixture.send(
                try fixture.upload(bytes, as: "a/b-c_D"), body: Body(pieces, length: 1_000_000))
            #expect(answer.status == 200)
            let files = try fixture.files("objects")
            #expect(files.count == 1 && files.allSatisfy { $0.hasSuffix("/a.b-c_D") })
            let read = try await fixture.send(try fixture.download("a/b-c_D"))
            #expect(read.status == 200 && read.body == bytes)
        }
    }

    @Test func ofWhatIsStoredTheBodyIsNotRead() async throws {
        try await with { fixture in
            try await fixture.put([1, 2, 3], as: "k")
            let body = Body([[9, 9]], length: 2)
            let answer = try await fixture.send(try fixture.upload([9, 9], as: "k"), body: body)
            #expect(answer.status == 412 && answer.problem == "already-stored")
            #expect(body.asked == 0)
            #expect(try await fixture.send(try fixture.download("k")).body == [1, 2, 3])
        }
    }

    @Test func twoUploadsAtOnceStoreOne() async throws {
        try await with { fixture in
            let bytes = randomBytes(500_000)
            let signed = try fixture.upload(bytes, as: "k")
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await fixture.send(signed, body: Body([bytes], length: 500_000)).status
                    }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.filter { $0 == 200 }.count == 1)
            #expect(statuses.allSatisfy { $0 == 200 || $0 == 412 })
            #expect(try await fixture.send(try fixture.download("k")).body == bytes)
        }
    }

    @Test func withoutALengthNothingIsRead() async throws {
        try await with { fixture in
            let body = Body([[1]], length: nil)
            let answer = try await fixture.send(try fixture.upload([1], as: "k"), body: body)
            #expect(answer.status == 411 && body.asked == 0)
        }
    }

    @Test func aBodyThatBreaksOffLeavesNothing() async throws {
        try await with { fixture in
            let bytes = randomBytes(600_000)
            for (failure, status) in [
                (HTTPError(.cut, "the client left"), 503), (HTTPError(.bodyTimeout, "too slow"), 408),
                (HTTPError(.overloaded, "too many bodies"), 503),
            ] {
                let body = Body([Array(bytes[..<400_000])], length: 600_000, failure: failure)
                let answer = try await fixture.send(try fixture.upload(bytes, as: "k"), body: body)
                #expect(answer.status == status)
            }
            #expect(try fixture.files("objects").isEmpty)
            #expect(fixture.lines.withLock { $0 } == [], "it is nobody's to set right")
        }
    }

    @Test func aBodyOfOtherLengthThanItSaysIsRefused() async throws {
        try await with { fixture in
            let bytes = randomBytes(10)
            for others in [Array(bytes[..<9]), bytes + [1]] {
                let answer = try await fixture.send(
                    try fixture.upload(bytes, as: "k"), body: Body([others], length: 10))
                #expect(answer.status == 400 && answer.problem == "incomplete-body")
            }
            #expect(try fixture.files("objects").isEmpty)
        }
    }

    @Test func otherBytesThanTheChecksumSaysAreRefused() async throws {
        try await with { fixture in
            let answer = try await fixture.send(
                try fixture.upload([1, 2, 3], as: "k"), body: Body([[1, 2, 4]], length: 3))
            #expect(answer.status == 400 && answer.problem == "bad-digest")
            #expect(try fixture.files("objects").isEmpty)
        }
    }

    @Test(arguments: [ENOSPC, EDQUOT])
    func aFullDiskIsToldAndLeavesNothing(_ number: Int32) async throws {
        let written = Lock(0)
        let fixture = try DiskStoreFixture { file, bytes throws(SystemError) in
            // The first piece fits.
            let isFirst = written.withLock { count in
                defer { count += 1 }
                return count == 0
            }
            guard isFirst else { throw SystemError(.file, "cannot write", errno: number) }
            try file.write(bytes)
        }
        try await with(fixture) { fixture in
            let bytes = randomBytes(1_000_000)
            let body = Body([bytes], length: 1_000_000)
            let answer = try await fixture.send(try fixture.upload(bytes, as: "k"), body: body)
            #expect(answer.status == 507 && answer.problem == "disk-full")
            expectTold(SystemError.text(of: number), fixture)
            #expect(try fixture.files("objects").isEmpty)
        }
    }

    @Test func aDiskThatFailsOtherwiseIsTriedAgainLater() async throws {
        let fixture = try DiskStoreFixture { _, _ throws(SystemError) in
            throw SystemError(.file, "cannot write", errno: EIO)
        }
        try await with(fixture) { fixture in
            let answer = try await fixture.send(
                try fixture.upload([1], as: "k"), body: Body([[1]], length: 1))
            #expect(answer.status == 503 && answer.fields["retry-after"] != nil)
            expectTold(SystemError.text(of: EIO), fixture)
        }
    }

    @Test func oneTransferTooManyIsToldToComeAgain() async throws {
        try await with(try DiskStoreFixture(transfers: 0)) { fixture in
            let answer = try await fixture.send(
                try fixture.upload([1], as: "k"), body: Body([[1]], length: 1))
            #expect(answer.status == 503 && answer.problem == "overloaded")
        }
    }

    /// However many URLs he has, others have places.
    @Test func oneUserHasNotAllTransfers() async throws {
        try await with(try DiskStoreFixture(transfers: 3, perUser: 1)) { fixture in
            try await fixture.put([1], as: "k")
            func request(_ user: String) throws -> HTTPRequest {
                let signed = try fixture.store.signDownload(
                    key: "k", contentType: "image/png", disposition: "", for: user, at: fixture.now)
                #expect(!signed.url.contains(user))
                return HTTPRequest(
                    method: "GET", target: String(signed.url.dropFirst("http://127.0.0.1:0".count)))
            }
            func status(_ user: String) async throws -> Int {
                await fixture.routes.answer(try request(user), Body([], length: 0)).status
            }
            do {
                let held = await fixture.routes.answer(try request("alice"), Body([], length: 0))
                #expect(held.status == 200)
                #expect(try await status("alice") == 503)
                #expect(try await status("bob") == 200)
                withExtendedLifetime(held) {}
            }
            #expect(try await status("alice") == 200)
        }
    }

    /// Else it could have its place for weeks.
    @Test func whoTakesTooFewBytesIsCut() async throws {
        // The second is waited for longer than the grace lasts, and takes its bytes fast enough.
        for (pause, pieces, isCut) in [(Duration.seconds(10), 8, true), (.seconds(3), 16, false)] {
            let waits = Lock(ContinuousClock.now)
            try await with(try DiskStoreFixture(waits: waits)) { fixture in
                try await fixture.put(randomBytes(pieces * BlobUpload.piece), as: "k")
                let signed = try fixture.download("k")
                let target = String(signed.url.dropFirst("http://127.0.0.1:0".count))
                let response = await fixture.routes.answer(
                    HTTPRequest(method: "GET", target: target), Body([], length: 0))
                let sink = Sink { waits.withLock { $0 += pause } }
                let write = try #require(response.body.write)
                do {
                    try await write(sink)
                    #expect(!isCut)
                } catch let error as HTTPError {
                    #expect(isCut && error.code == .bodyTimeout)
                }
            }
        }
    }

    // MARK: Signatures

    @Test func everyPartOfWhatIsSignedIsBound() async throws {
        try await with { fixture in
            let (bytes, signed) = ([1, 2, 3] as [UInt8], try fixture.upload([1, 2, 3], as: "k"))
            let changes: [String: (inout String, inout HTTPFields) -> Void] = [
                "key": { target, _ in target = target.replacing("/blobs/k?", with: "/blobs/l?") },
                "expiry": { target, _ in target = target.replacing("exp=18", with: "exp=19") },
                "type": { _, fields in fields["content-type"] = "text/html" },
                "no type": { _, fields in fields["content-type"] = nil },
                "checksum": { _, fields in
                    fields["x-amz-checksum-sha256"] = Base64.encode(Digest.sha256([9]))
                },
                "no checksum": { _, fields in fields["x-amz-checksum-sha256"] = nil },
                "condition": { _, fields in fields["if-none-match"] = "\"k\"" },
                "no condition": { _, fields in fields["if-none-match"] = nil },
                "a part": { target, _ in target += "&upload=\(String(repeating: "a", count: 32))&part=1" },
                "no signature": { target, _ in target = String(target.prefix { $0 != "&" }) },
                "a short signature": { target, _ in target.removeLast() },
                "a long signature": { target, _ in target += "0" },
                "no expiry": { target, _ in target = target.replacing("exp=", with: "xep=") },
                "a user": { target, _ in target += "&user=0" },
                "no query": { target, _ in target = String(target.prefix { $0 != "?" }) },
            ]
            for (what, change) in changes {
                let body = Body([bytes], length: 3)
                let answer = try await fixture.send(signed, body: body, change)
                #expect(answer.status == 403, "\(what)")
                #expect(answer.problem == "signature-does-not-match", "\(what)")
                #expect(body.asked == 0, "\(what)")
            }
            let longer = try await fixture.send(signed, body: Body([bytes], length: 4))
            #expect(longer.status == 403)
            #expect(try await fixture.send(signed, method: "GET").status == 403)
            #expect(try await fixture.send(signed, body: Body([bytes], length: 3)).status == 200)
        }
    }

    @Test func theTypeAndTheDispositionOfADownloadAreBound() async throws {
        try await with { fixture in
            try await fixture.put([1], as: "k")
            let signed = try fixture.download("k")
            for (old, new) in [
                ("image%2Fpng", "text%2Fhtml"), ("=inline", "=attachment"), ("&type=", "&epyt="),
            ] {
                let answer = try await fixture.send(signed) { target, _ in
                    #expect(target.contains(old))
                    target = target.replacing(old, with: new)
                }
                #expect(answer.status == 403, "\(old)")
            }
            #expect(try await fixture.send(signed, body: Body([[1]], length: 1), method: "PUT").status == 403)
        }
    }

    @Test func aURLIsGoodUntilItsLastSecond() async throws {
        try await with { fixture in
            let (storing, late) = (try fixture.upload([1], as: "k"), try fixture.upload([1], as: "l"))
            #expect(storing.expiresAt == "2027-01-15T08:15:00Z")
            fixture.clock.withLock { $0 += 900 }
            #expect(try await fixture.send(storing, body: Body([[1]], length: 1)).status == 200)
            let reading = try fixture.download("k")
            fixture.clock.withLock { $0 += 1 }
            let answer = try await fixture.send(late, body: Body([[1]], length: 1))
            #expect(answer.status == 403 && answer.problem == "signature-expired")
            fixture.clock.withLock { $0 += 299 }
            #expect(try await fixture.send(reading).status == 200)
            fixture.clock.withLock { $0 += 1 }
            #expect(try await fixture.send(reading).status == 403)
        }
    }

    @Test func anotherStoreSignsWithAnotherKey() async throws {
        try await with { fixture in
            let other = try DiskStoreFixture()
            defer { other.temporary.remove() }
            let signed = try other.upload([1], as: "k")
            #expect(try await fixture.send(signed, body: Body([[1]], length: 1)).status == 403)
        }
    }

    // MARK: Keys

    @Test(arguments: [
        "", "..", "../signing-key", "a/../../signing-key", "/etc/passwd", "%2e%2e/signing-key", "a%2f..%2fb",
        "a%00b", "a//b", "a/", ".", "signing-key%2e", "a b", "a%0ab", "%c3%a4",
        String(repeating: "a", count: 300),
    ])
    func aHostileKeyIsRefused(_ key: String) async throws {
        try await with { fixture in
            for use in [
                BlobGrant.Use.download(contentType: "a/b", disposition: ""),
                .upload(contentType: "a/b", size: 1, sha256: Base64.encode(Digest.sha256([1]))),
            ] {
                let answer = try await send(use, of: key, fixture)
                #expect(answer.status == 403)
            }
            #expect(try fixture.files() == ["signing-key"])
        }
    }

    /// The same request is good with a key that can be one.
    @Test func whatIsSignedForAHostileKeyIsGoodForOthers() async throws {
        try await with { fixture in
            let checksum = Base64.encode(Digest.sha256([1]))
            let upload = BlobGrant.Use.upload(contentType: "a/b", size: 1, sha256: checksum)
            let stored = try await send(upload, of: "k", fixture)
            #expect(stored.status == 200)
            let download = BlobGrant.Use.download(contentType: "a/b", disposition: "")
            let read = try await send(download, of: "k", fixture)
            #expect(read.body == [1])
        }
    }

    /// Sends what a signature of the store allows, whatever the key: its form alone can be in the way.
    private func send(
        _ use: BlobGrant.Use, of key: String, _ fixture: DiskStoreFixture
    ) async throws -> DiskStoreFixture.Answer {
        let path = "\(BlobRoutes.path)\(key)"
        let name = String(HTTPRequest(method: "GET", target: path).path.dropFirst(BlobRoutes.path.count))
        let grant = BlobGrant(key: name, expiry: 2_000_000_000, use: use)
        let code = try await code(of: grant, fixture)
        let query = (grant.query + [(name: "sig", value: code)]).map {
            "\($0.name)=\(PercentEncoding.encode($0.value))"
        }.joined(separator: "&")
        guard case .upload(let contentType, _, let checksum) = use else {
            return try await fixture.send("GET", "\(path)?\(query)")
        }
        let fields: HTTPFields = [
            "content-type": contentType, "x-amz-checksum-sha256": checksum, "if-none-match": "*",
        ]
        return try await fixture.send("PUT", "\(path)?\(query)", fields, body: Body([[1]], length: 1))
    }

    private func code(of grant: BlobGrant, _ fixture: DiskStoreFixture) async throws -> String {
        grant.code(Array(try Data(contentsOf: URL(filePath: fixture.folder + "/signing-key"))))
    }

    @Test func otherPathsAndMethodsAreRefused() async throws {
        try await with { fixture in
            #expect(try await fixture.send("GET", "/api/v1/other/k").status == 404)
            try await fixture.put([1], as: "k")
            for method in ["HEAD", "DELETE", "POST", "PATCH", "TRACE", "get"] {
                #expect(try await fixture.send(try fixture.download("k"), method: method).status == 403)
            }
            #expect(try await fixture.send("GET", BlobRoutes.path).status == 403)
        }
    }

    @Test func aLinkInTheFolderIsNotFollowed() async throws {
        try await with { fixture in
            let outside = fixture.temporary.path + "/outside"
            try "secret".write(toFile: outside, atomically: true, encoding: .utf8)
            try await fixture.put([1], as: "k")
            let file = fixture.folder + "/objects/" + (try #require(try fixture.files("objects").first))
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: outside)
            let answer = try await fixture.send(try fixture.download("k"))
            #expect(answer.status == 503)
            #expect(!String(decoding: answer.body, as: UTF8.self).contains("secret"))
            let storing = try await fixture.send(
                try fixture.upload([2], as: "k"), body: Body([[2]], length: 1))
            #expect(storing.status == 503)
            #expect(try String(contentsOfFile: outside, encoding: .utf8) == "secret")
            try FileManager.default.removeItem(atPath: file)
        }
    }

    // MARK: Reading

    @Test func anAnswerSaysWhatItIs() async throws {
        try await with { fixture in
            try await fixture.put([1, 2, 3], as: "k")
            let disposition = "attachment; filename=\"a b.png\"; filename*=UTF-8''%C3%A4%26.png"
            let answer = try await fixture.send(try fixture.download("k", disposition: disposition))
            #expect(answer.fields["content-type"] == "image/png")
            #expect(answer.fields["content-disposition"] == disposition)
            #expect(answer.fields["accept-ranges"] == "bytes")
            #expect(answer.fields["etag"] == "\"k\"")
            #expect(answer.fields["x-content-type-options"] == "nosniff")
            #expect(answer.fields["cache-control"] == "private")
            let missing = try await fixture.send(try fixture.download("l"))
            #expect(missing.status == 404 && missing.problem == "no-such-object")
            #expect(missing.fields["x-content-type-options"] == "nosniff")
        }
    }

    @Test func aRangeIsAPartOfTheAnswer() async throws {
        try await with { fixture in
            let bytes = randomBytes(700_000)
            try await fixture.put(bytes, as: "k")
            let signed = try fixture.download("k")
            let answer = try await fixture.send(signed) { _, fields in fields["range"] = "bytes=100-599999" }
            #expect(answer.status == 206 && answer.body == Array(bytes[100...599_999]))
            #expect(answer.fields["content-range"] == "bytes 100-599999/700000")
            let beyond = try await fixture.send(signed) { _, fields in fields["range"] = "bytes=700000-" }
            #expect(beyond.status == 416 && beyond.fields["content-range"] == "bytes */700000")
            let several = try await fixture.send(signed) { _, fields in fields["range"] = "bytes=0-1,3-4" }
            #expect(several.status == 200 && several.body == bytes)
        }
    }

    @Test func aFileThatBecomesShorterEndsTheAnswer() async throws {
        try await with { fixture in
            try await fixture.put(randomBytes(600_000), as: "k")
            let file = fixture.folder + "/objects/" + (try #require(try fixture.files("objects").first))
            let signed = try fixture.download("k")
            let target = String(signed.url.dropFirst("http://127.0.0.1:0".count))
            let response = await fixture.routes.answer(
                HTTPRequest(method: "GET", target: target), Body([], length: 0))
            guard case .sized(_, let write) = response.body else {
                Issue.record("an object is no stream")
                return
            }
            #expect(truncate(file, 300_000) == 0)
            await #expect(throws: SystemError.self) { try await write(Sink()) }
            expectTold("not as it was", fixture)
        }
    }

    private struct Sink: HTTPBodyWriter {
        /// What happens with each piece.
        var onPiece: @Sendable () -> Void = {}

        func write(_ bytes: [UInt8]) async throws { onPiece() }
        func beginChunk(of count: Int) throws {}
    }

    @Test func aClientThatLeavesGivesItsFilesBack() async throws {
        let fixture = try DiskStoreFixture()
        try await with(fixture) { fixture in
            let bytes = randomBytes(4 << 20)
            try await fixture.put(bytes, as: "k")
            try await fixture.serve { server in
                let poller = try Poller()
                defer { poller.stop() }
                let reader = try RawClient(server.port, poller, receiveBuffer: 4_096)
                let reading = try fixture.download("k").url
                let path = reading.dropFirst("http://127.0.0.1:\(server.port)".count)
                try await reader.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
                _ = try await reader.read()
                let writer = try RawClient(server.port, poller)
                let storing = try fixture.upload(bytes, as: "l")
                let target = storing.url.dropFirst("http://127.0.0.1:\(server.port)".count)
                var head = "PUT \(target) HTTP/1.1\r\nHost: h\r\nContent-Length: \(bytes.count)\r\n"
                for field in storing.headers { head += "\(field.name): \(field.value)\r\n" }
                try await writer.send(head + "\r\n")
                try await writer.send(Array(bytes[..<(1 << 20)]))
                let routes = fixture.routes
                try await wait(for: "both to be under way", read: { routes.transferCount }) { $0 == 2 }
                if Processes.areOpenFilesKnown {
                    try await wait(for: "both files", read: { try fixture.openFiles.count }) { $0 == 2 }
                }
                reader.leave()
                writer.leave()
                try await wait(for: "both to have ended", read: { routes.transferCount }) { $0 == 0 }
                try await wait(for: "their connections to end", read: { server.connectionCount }) { $0 == 0 }
            }
            #expect(try fixture.files("objects").count == 1)
        }
    }
}
