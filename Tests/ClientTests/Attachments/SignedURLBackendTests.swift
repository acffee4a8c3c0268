import Foundation
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// What a backend says about attachments, and whom it sends to (backend 10.2, 1.7).
@Suite(.patient()) struct SignedURLBackendTests {
    private typealias Code = AttachmentStorageError.Code

    private static let problems: [(status: Int, slug: String, code: Code)] = [
        (400, "invalid-request", .refused), (403, "host-not-allowed", .refused), (404, "unknown", .unknown),
        (404, "not-uploaded", .notUploaded), (404, "no-such-route", .refused),
        (409, "still-referenced", .stillReferenced), (409, "conflict", .conflict),
        (409, "not-stored", .storage), (409, "other", .refused), (413, "too-large", .tooLarge),
        (415, "unsupported-media-type", .refused), (429, "quota-exceeded", .quotaExceeded),
        (429, "rate-limited", .storage), (408, "request-timeout", .storage), (500, "internal", .storage),
        (503, "unavailable", .storage),
    ]

    /// The calls that lead to a question of the backend, by the last word of its address.
    private static let questions = ["upload-url", "parts", "complete", "download-url", "delete"]

    @Test(arguments: questions) func eachProblemHasItsCode(question: String) async throws {
        try await StorageRig.run { rig in
            let path = try rig.write([UInt8](repeating: 1, count: Int(AttachmentPart.size)))
            let client = rig.client()
            for problem in Self.problems {
                rig.store(nil, as: "a")
                rig.script { exchange, _ in
                    let isMeant =
                        exchange.call.hasSuffix(" \(question)")
                        || (question == "delete" && exchange.request.method == "DELETE")
                    return isMeant ? .problem(problem.status, problem.slug) : nil
                }
                let failure =
                    switch question {
                    case "delete": await client.deleteFailure("a")
                    case "download-url": await client.downloadFailure("a", rig.folder.file("down"))
                    default: await client.uploadFailure("a", path)
                    }
                #expect(failure?.code == problem.code && failure?.status == problem.status, "\(problem)")
                let code = AttachmentProblem.code(of: problem.slug)
                #expect(
                    failure?.description.hasSuffix("failed with status \(problem.status) (\(code))") == true)
                #expect(failure?.description.contains(StorageRig.secret) == false)
            }
            #expect(rig.read(rig.folder.file("down")) == nil, "nothing is made for a download that is none")
        }
    }

    @Test func whatIsGoneIsDeletedAndNotTransferred() async throws {
        try await StorageRig.run { rig in
            rig.script { exchange, _ in exchange.isStorage ? nil : .problem(410, "gone") }
            let (client, path) = (rig.client(), try rig.write([1]))
            #expect(await client.uploadFailure("a", path)?.code == .gone)
            #expect(await client.downloadFailure("a", rig.folder.file("down"))?.code == .gone)
            try await client.delete(attachment: .row("a", .queuedDelete))
            #expect(rig.stored.isEmpty)
        }
    }

    @Test func aFileIsDeletedByTheBackend() async throws {
        try await StorageRig.run { rig in
            rig.store([1], as: "a/b")
            try await rig.client().delete(attachment: .row("a/b", .queuedDelete))
            try await rig.client().delete(attachment: .row("a/b", .queuedDelete))
            #expect(rig.file("a/b") == nil)
            #expect(rig.exchanges.map(\.request.method) == ["DELETE", "DELETE"])
            #expect(rig.exchanges[0].request.target == "/api/v1/attachments/a%2Fb")
            #expect(rig.exchanges[0].body == [])
            #expect(rig.exchanges[0].request.fields["authorization"] == "Bearer \(StorageRig.secret)-1")
        }
    }

    // MARK: Authorization

    @Test func whatTheBackendDoesNotAcceptIsAskedForOnceMore() async throws {
        try await StorageRig.run { rig in
            // Of each question the first request is refused.
            rig.script { exchange, number in
                number == 1 && !exchange.isStorage ? HTTPResponse(status: 401) : nil
            }
            try await rig.client().upload(
                attachment: .row("a"), localUri: try rig.write([1]), progress: { _ in })
            #expect(
                rig.calls == [
                    "POST upload-url", "POST upload-url", "PUT store", "POST complete", "POST complete",
                ])
            let values = rig.asked.map { $0.request.fields["authorization"] }
            #expect(values == (1...4).map { "Bearer \(StorageRig.secret)-\($0)" })
            #expect(rig.stored.allSatisfy { $0.request.fields["authorization"] == nil })
        }
    }

    @Test func whatIsRefusedTwiceIsAnError() async throws {
        try await StorageRig.run { rig in
            rig.script { _, _ in HTTPResponse(status: 401) }
            let failure = await rig.client().uploadFailure("a", try rig.write([1]))
            #expect(failure?.code == .refused && failure?.status == 401)
            #expect(rig.exchanges.count == 2)
        }
    }

    @Test func withoutASessionNobodyIsAsked() async throws {
        try await StorageRig.run { rig in
            let (client, path) = (rig.client(session: nil), try rig.write([1]))
            #expect(await client.uploadFailure("a", path)?.code == .missingCredentials)
            #expect(await client.downloadFailure("a", rig.folder.file("d"))?.code == .missingCredentials)
            #expect(await client.deleteFailure("a")?.code == .missingCredentials)
            #expect(rig.exchanges.isEmpty)
        }
    }

    @Test func anErrorOfTheSessionStaysAsItIs() async throws {
        struct Locked: Error {}
        let connector = BackendConnector(url: "http://backend.test", access: .session { throw Locked() })
        await #expect(throws: Locked.self) {
            try await SignedURLStorage(connector: connector).delete(attachment: .row("a"))
        }
    }

    @Test func aTokenOfDevelopmentAuthorisesToo() async throws {
        let asked = Lock<[String?]>([])
        let connector = BackendConnector(
            url: "http://backend.test", access: .developmentUser("alice"),
            send: { request in
                if request.url.contains("/api/auth/token") { return .token(1) }
                asked.withLock { $0.append(request.fields["authorization"]) }
                return .status(204)
            })
        try await SignedURLStorage(connector: connector).delete(attachment: .row("a"))
        #expect(asked.withLock { $0 } == ["Bearer token-1"])
    }

    @Test func nothingOfItShowsTheSession() {
        let storage = SignedURLStorage(
            url: "https://user:\(StorageRig.secret)@backend.test/", session: { StorageRig.secret },
            transport: TransportOptions(proxy: "http://u:\(StorageRig.secret)@proxy.test"))
        var text = "\(storage)"
        dump(storage, to: &text)
        #expect(text.contains("https://backend.test"))
        #expect(!text.contains(StorageRig.secret))
    }

    // MARK: Pauses

    @Test func aPauseHoldsBackItsOwnWayAlone() async throws {
        let clock = SteppedClock()
        let isBusy = Lock(true)
        let urls = ScriptedURLs(clock: clock) { method, path, _ in
            let isUpload = path.hasSuffix("/upload-url")
            guard isUpload, isBusy.withLock({ $0 }) else {
                return .json(isUpload ? #"{"id":"a","alreadyUploaded":true}"# : "{}")
            }
            return .json(#"{"code":"RATE_LIMITED"}"#, status: 429, ["retry-after": "7"])
        }
        let folder = try TemporaryDirectory()
        let path = folder.file("up")
        try Data([1]).write(to: URL(filePath: path))
        let client = urls.client
        #expect(await client.uploadFailure("a", path)?.code == .storage)
        isBusy.withLock { $0 = false }
        let uploading = Task {
            try await client.upload(attachment: .row("a"), localUri: path, progress: { _ in })
        }
        try await wait(for: "the pause", read: { clock.waiting }, until: { $0 == [.seconds(7)] })
        try await client.delete(attachment: .row("a"))
        #expect(await client.downloadFailure("a", folder.file("d"))?.message.contains("downloadUrl") == true)
        #expect(urls.asked.filter { $0.url.hasSuffix("/upload-url") }.count == 1)
        clock.advance(by: .seconds(7))
        try await wait(forEndOf: uploading)
        #expect(urls.asked.filter { $0.url.hasSuffix("/upload-url") }.count == 2)
    }

    @Test func aQuotaHoldsBackNothing() async throws {
        let urls = ScriptedURLs { _, _, _ in
            .json(#"{"code":"QUOTA_EXCEEDED"}"#, status: 429, ["retry-after": "7"])
        }
        let folder = try TemporaryDirectory()
        try Data([1]).write(to: URL(filePath: folder.file("up")))
        let client = urls.client
        #expect(await client.uploadFailure("a", folder.file("up"))?.code == .quotaExceeded)
        #expect(await client.uploadFailure("b", folder.file("up"))?.code == .quotaExceeded)
        #expect(urls.asked.count == 2)
    }

    @Test func aPauseEndsWhenItsTaskIsCancelled() async throws {
        let clock = SteppedClock()
        let urls = ScriptedURLs(clock: clock) { _, _, _ in .status(503, ["retry-after": "7"]) }
        let client = urls.client
        #expect(await client.deleteFailure("a")?.code == .storage)
        let deleting = Task { try await client.delete(attachment: .row("a")) }
        try await wait(for: "the pause") { !clock.waiting.isEmpty }
        deleting.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: deleting) }
    }

    // MARK: Where it sends to

    @Test(arguments: [
        "ftp://store.test/k", "file:///etc/passwd", "javascript:alert(1)", "//store.test/k", "store.test/k",
        " http://store.test/k", "httpx://store.test/k",
    ])
    func onlyHTTPIsFollowed(url: String) async throws {
        let code = try await failures(at: "http://backend.test", url)
        #expect(code == [.refused, .refused, .refused])
    }

    @Test func aStorageWithoutTLSIsRefusedBehindABackendThatHasIt() async throws {
        #expect(
            try await failures(at: "https://backend.test", "http://store.test/k")
                == [.refused, .refused, .refused])
        #expect(
            try await failures(at: "HTTPS://backend.test", "HTTP://store.test/k")
                == [.refused, .refused, .refused])
        // These would be followed: there is no storage.
        for (backend, store) in [
            ("https://backend.test", "https://store.test/k"),
            ("https://backend.test", "HTTPS://store.test/k"),
            ("http://backend.test", "http://store.test/k"), ("http://backend.test", "https://store.test/k"),
        ] {
            #expect(try await failures(at: backend, store) == [.network, .network, .network])
        }
    }

    /// What comes of a whole upload, of one in parts, and of a download that a backend sends to an address.
    private func failures(at backend: String, _ url: String) async throws -> [AttachmentStorageError.Code?] {
        let address = "\(url)?sig=\(StorageRig.secret)"
        let signed = SignedRequest(url: address, method: "PUT", expiresAt: "e")
        let urls = ScriptedURLs(backend) { _, path, body in
            if path.hasSuffix("/download-url") {
                return .json(
                    AttachmentDownloadTicket(
                        url: address, expiresAt: "e", size: 1, contentType: "a/b",
                        sha256: String(repeating: "0", count: 64)
                    ).json.text)
            }
            if path.hasSuffix("/parts") {
                return .json(AttachmentPartsTicket(parts: [.init(number: 1, request: signed)]).json.text)
            }
            let question = try AttachmentUploadRequest(json: JSON.parse(body))
            var ticket = AttachmentUploadTicket(id: question.id)
            if question.id == "whole" {
                ticket.request = signed
            } else {
                ticket.multipart = AttachmentMultipart(partSize: AttachmentPart.size, partCount: 1)
            }
            return .json(ticket.json.text)
        }
        let folder = try TemporaryDirectory()
        try Data([1]).write(to: URL(filePath: folder.file("up")))
        let client = urls.client
        let failures = [
            await client.uploadFailure("whole", folder.file("up")),
            await client.uploadFailure("parts", folder.file("up")),
            await client.downloadFailure("a", folder.file("down")),
        ]
        for failure in failures {
            #expect(failure?.description.contains(StorageRig.secret) == false)
        }
        let isSent = failures.allSatisfy { $0?.code == .network }
        #expect(urls.sent.count == (isSent ? 3 : 0))
        #expect(urls.sent.allSatisfy { $0.fields["authorization"] == nil })
        return failures.map { $0?.code }
    }

    // MARK: What cannot be used

    @Test(arguments: [
        "", "[]", #"{"id":"a"}"#, #"{"id":"b","alreadyUploaded":true}"#,
        #"{"id":"a","uploadUrl":"http://s.test/k","method":"GET","headers":{},"expiresAt":"e"}"#,
        #"{"id":"a","uploadUrl":"http://s.test/k","method":"PUT","headers":{"Content-Length":"2"},"#
            + #""expiresAt":"e"}"#,
        #"{"id":"a","multipart":{"partSize":5,"partCount":1,"uploaded":[]}}"#,
        #"{"id":"a","multipart":{"partSize":8388608,"partCount":2,"uploaded":[]}}"#,
    ])
    func anAnswerThatCannotBeUsedIsAnError(answer: String) async throws {
        let urls = ScriptedURLs { _, _, _ in .json(answer) }
        let folder = try TemporaryDirectory()
        try Data([1]).write(to: URL(filePath: folder.file("up")))
        let failure = await urls.client.uploadFailure("a", folder.file("up"))
        #expect(failure?.code == .storage && failure?.status == nil)
        #expect(urls.sent.isEmpty)
    }

    @Test func otherPartsThanWereAskedForAreAnError() async throws {
        let signed = SignedRequest(url: "http://s.test/k", method: "PUT", expiresAt: "e")
        let urls = ScriptedURLs { _, path, _ in
            guard path.hasSuffix("/parts") else {
                return .json(
                    AttachmentUploadTicket(
                        id: "a", multipart: AttachmentMultipart(partSize: AttachmentPart.size, partCount: 1)
                    ).json.text)
            }
            return .json(AttachmentPartsTicket(parts: [.init(number: 2, request: signed)]).json.text)
        }
        let folder = try TemporaryDirectory()
        try Data([1]).write(to: URL(filePath: folder.file("up")))
        #expect(await urls.client.uploadFailure("a", folder.file("up"))?.code == .storage)
        #expect(urls.sent.isEmpty)
    }

    @Test func fieldsOfTheConnectionAreItsOwn() async throws {
        let signed = SignedRequest(
            url: "http://s.test/k", method: "POST",
            headers: [
                .init("Host", "evil.test"), .init("content-length", "1"),
                .init("Transfer-Encoding", "chunked"), .init("Connection", "close"),
                .init("Expect", "100-continue"), .init("X-Kept", "1"),
            ], expiresAt: "e")
        let urls = ScriptedURLs { _, _, _ in
            .json(AttachmentUploadTicket(id: "a", request: signed).json.text)
        }
        let folder = try TemporaryDirectory()
        try Data([1]).write(to: URL(filePath: folder.file("up")))
        #expect(await urls.client.uploadFailure("a", folder.file("up"))?.code == .network)
        let request = try #require(urls.sent.first)
        #expect(request.method == "POST")
        #expect(request.fields.map(\.name) == ["X-Kept"])
    }

    /// What waits is tried again and again, and not read each time.
    @Test func withoutABackendNoFileIsReadTwiceAndOnlyOneIsRead() async throws {
        let (isReachable, pieces) = (Lock(false), Lock<[Int]>([]))
        let urls = ScriptedURLs { method, path, _ in
            guard isReachable.withLock({ $0 }) else { throw HTTPClientError(.couldNotConnect, "no network") }
            if method == "GET" { return HTTPClientResponse(status: 404, fields: [:], body: []) }
            let id = path.hasSuffix("upload-url") ? "a" : ""
            return .json(AttachmentUploadTicket(id: id, isUploaded: true).json.text)
        }
        let client = SignedURLStorage(
            connector: urls.connector,
            through: { _ in throw HTTPClientError(.couldNotConnect, "there is no storage") },
            onPiece: { size in pieces.withLock { $0.append(size) } })
        let folder = try TemporaryDirectory()
        for (name, size) in [("a", 10), ("b", 20)] {
            try Data(count: size).write(to: URL(filePath: folder.file(name)))
        }
        for _ in 0..<3 {
            for name in ["a", "b"] {
                #expect(await client.uploadFailure(name, folder.file(name))?.code == .network)
            }
        }
        #expect(pieces.withLock { $0 } == [10])
        isReachable.withLock { $0 = true }
        try await client.upload(attachment: .row("a"), localUri: folder.file("a"), progress: { _ in })
        #expect(pieces.withLock { $0 } == [10], "what is known is not read again")
        // Another file under the same name is another one.
        isReachable.withLock { $0 = false }
        #expect(await client.uploadFailure("b", folder.file("b"))?.code == .network)
        #expect(pieces.withLock { $0 } == [10, 20])
        try Data(count: 30).write(to: URL(filePath: folder.file("b")))
        isReachable.withLock { $0 = true }
        #expect(await client.uploadFailure("b", folder.file("b"))?.code == .storage, "the script knows no b")
        #expect(pieces.withLock { $0 } == [10, 20, 30])
        #expect(
            urls.asked.map(\.method) == [
                "POST", "GET", "POST", "GET", "POST", "GET", "POST", "POST", "GET", "POST",
            ])
    }

    @Test func aBackendThatNobodyReachesIsAnError() async throws {
        let nobody = try RefusingPort()
        let storage = SignedURLStorage(url: "http://127.0.0.1:\(nobody.number)", session: { "s" })
        let failure = await storage.deleteFailure("a")
        #expect(failure?.code == .network && failure?.status == nil)
    }
}
