import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncBackend

/// What the S3 store asks a service for, and makes of its answers, with a server that plays the service.
@Suite(.patient())
struct S3StoreScriptTests {
    /// What the server was asked for and still answers.
    private final class Script: Sendable {
        private let answers: Lock<[(status: Int, fields: String, body: String)]>
        private let seen = Lock<[String]>([])

        init(_ answers: [(Int, String)], fields: String = "") {
            self.answers = Lock(answers.map { (status: $0.0, fields: fields, body: $0.1) })
        }

        /// The requests, each from its first line to the end of its body.
        var requests: [String] { seen.withLock { $0 } }

        func play(_ connection: RawConnection) {
            while let request = connection.request() {
                seen.withLock { $0.append(request) }
                let next = answers.withLock { $0.isEmpty ? nil : $0.removeFirst() }
                guard let (status, fields, body) = next else { return }
                let length = request.hasPrefix("HEAD ") ? "" : "content-length: \(body.utf8.count)\r\n"
                connection.send("HTTP/1.1 \(status) x\r\n\(length)\(fields)\r\n")
                if !request.hasPrefix("HEAD ") { connection.send(body) }
            }
        }
    }

    private func with(
        _ script: Script, _ body: (S3Store) async throws -> Void
    ) async throws {
        let server = try RawServer { script.play($0) }
        let client = try HTTPClient()
        defer { client.close() }
        let configuration = S3Configuration(
            bucket: "photos", prefix: "p",
            endpoint: .init(scheme: "http", host: "127.0.0.1", port: server.port),
            region: "us-east-1", style: .path,
            credentials: .init(accessKey: "AK", secretKey: "canary-secret", sessionToken: "canary+token"))
        try await body(S3Store(configuration, client: client, now: { 1_369_353_600 }))
    }

    private func with(
        _ answers: [(Int, String)], fields: String = "", _ body: (S3Store) async throws -> Void
    ) async throws -> [String] {
        let script = Script(answers, fields: fields)
        try await with(script, body)
        return script.requests
    }

    private static func error(_ code: String) -> String { "<Error><Code>\(code)</Code></Error>" }

    /// The parts of a page, and where the next one begins.
    private static func page(_ numbers: ClosedRange<Int>, next: Int?) -> String {
        let parts = numbers.map {
            "<Part><PartNumber>\($0)</PartNumber><ETag>\"e\($0)\"</ETag><Size>\($0)</Size></Part>"
        }
        let end = next.map { "<NextPartNumberMarker>\($0)</NextPartNumberMarker>" } ?? ""
        let isTruncated = "<IsTruncated>\(next != nil)</IsTruncated>"
        return "<ListPartsResult>\(isTruncated)\(end)\(parts.joined())</ListPartsResult>"
    }

    @Test func anUploadBeginsWithItsTypeAndItsChecksums() async throws {
        let text = "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"
        let requests = try await with([(200, text)]) { store in
            let upload = try await store.createMultipart(key: "a/b", contentType: "image/png")
            #expect(upload == "u")
        }
        let request = try #require(requests.first)
        #expect(request.hasPrefix("POST /photos/p/a/b?uploads=&X-Amz-Algorithm=AWS4-HMAC-SHA256&"))
        for line in [
            "content-type: image/png", "x-amz-checksum-algorithm: SHA256",
        ] {
            #expect(request.contains("\r\n\(line)\r\n"), "\(line)")
        }
        #expect(request.contains("X-Amz-SignedHeaders=content-type%3Bhost%3Bx-amz-checksum-algorithm&"))
        #expect(request.contains("&X-Amz-Security-Token=canary%2Btoken&"))
        #expect(!request.contains("canary-secret"))
    }

    @Test func partsAreListedPageByPage() async throws {
        let requests = try await with([
            (200, Self.page(1...2, next: 2)), (200, Self.page(3...3, next: 1_000)),
            (200, Self.page(1_001...1_001, next: nil)),
        ]) { store in
            let parts = try #require(try await store.parts(key: "k", upload: "u/+"))
            #expect(parts.map(\.number) == [1, 2, 3, 1_001])
            #expect(parts.map(\.tag) == ["\"e1\"", "\"e2\"", "\"e3\"", "\"e1001\""])
        }
        #expect(requests.count == 3)
        for (request, marker) in zip(requests, [0, 2, 1_000]) {
            let start = "GET /photos/p/k?max-parts=1000&part-number-marker=\(marker)&uploadId=u%2F%2B&"
            #expect(request.hasPrefix(start))
        }
    }

    @Test func aListThatDoesNotGoOnIsGivenUp() async throws {
        let page = Self.page(1...2, next: 2)
        let requests = try await with([(200, page), (200, page), (200, page)]) { store in
            let error = await #expect(throws: ObjectStoreError.self) {
                _ = try await store.parts(key: "k", upload: "u")
            }
            #expect(error?.kind == .unavailable)
        }
        #expect(requests.count == 2)
    }

    @Test func noSuchUploadIsNone() async throws {
        let others: [(Int, String)] = [(404, Self.error("NoSuchBucket")), (404, ""), (404, "<html/>")]
        _ = try await with([(404, Self.error("NoSuchUpload"))] + others) { store in
            let parts = try await store.parts(key: "k", upload: "u")
            #expect(parts == nil)
            for kind in [ObjectStoreError.Kind.refused, .unavailable, .unavailable] {
                let error = await #expect(throws: ObjectStoreError.self) {
                    _ = try await store.parts(key: "k", upload: "u")
                }
                #expect(error?.kind == kind)
            }
        }
    }

    @Test func anUploadIsCompletedWhereNothingIs() async throws {
        let result = "<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>"
        let requests = try await with([(200, "  \n" + result)]) { store in
            try await store.completeMultipart(
                key: "k", upload: "u",
                parts: [
                    StoredPart(number: 1, size: 8, tag: "\"a<&\"", sha256: "AA+/="),
                    StoredPart(number: 3, size: 1, tag: "b"),
                ])
        }
        let request = try #require(requests.first)
        #expect(request.hasPrefix("POST /photos/p/k?uploadId=u&"))
        #expect(request.contains("\r\nif-none-match: *\r\n"))
        #expect(request.contains("X-Amz-SignedHeaders=content-type%3Bhost%3Bif-none-match&"))
        #expect(request.contains("<PartNumber>1</PartNumber>"))
        #expect(request.contains("<ChecksumSHA256>AA+/=</ChecksumSHA256></Part><Part><PartNumber>3<"))
        #expect(request.contains("a&lt;&amp;") && !request.contains("a<&"))
        #expect(request.contains("<ETag>b</ETag></Part></CompleteMultipartUpload>"))
    }

    private static let failures: [(Int, String, ObjectStoreError.Kind)] = [
        (200, error("InternalError"), .unavailable), (200, "", .unavailable),
        (503, error("SlowDown"), .unavailable), (429, "", .unavailable),
        (412, error("PreconditionFailed"), .conflict),
        (200, error("PreconditionFailed"), .conflict), (404, error("NoSuchUpload"), .conflict),
        (403, error("AccessDenied"), .refused), (501, error("NotImplemented"), .refused),
    ]

    @Test(arguments: failures)
    func anUploadThatIsNotCompleteIsNotTakenForIt(
        status: Int, body: String, kind: ObjectStoreError.Kind
    ) async throws {
        _ = try await with([(status, body)]) { store in
            let error = await #expect(throws: ObjectStoreError.self) {
                try await store.completeMultipart(
                    key: "k", upload: "u", parts: [StoredPart(number: 1, size: 8, tag: "a")])
            }
            #expect(error?.kind == kind)
            #expect(error?.message.contains("canary") == false)
        }
    }

    @Test func whatIsGoneIsDeletedAndEnded() async throws {
        let requests = try await with([
            (204, ""), (404, Self.error("NoSuchKey")), (204, ""), (404, Self.error("NoSuchUpload")),
        ]) { store in
            for _ in 0..<2 { try await store.delete(key: "k") }
            for _ in 0..<2 { try await store.abortMultipart(key: "k", upload: "u") }
        }
        #expect(
            requests.map { $0.split(separator: "X-Amz")[0] } == [
                "DELETE /photos/p/k?", "DELETE /photos/p/k?", "DELETE /photos/p/k?uploadId=u&",
                "DELETE /photos/p/k?uploadId=u&",
            ])
        _ = try await with([(503, ""), (403, ""), (404, Self.error("NoSuchBucket")), (429, "")]) { store in
            for kind in [ObjectStoreError.Kind.unavailable, .refused, .refused, .unavailable] {
                let error = await #expect(throws: ObjectStoreError.self) { try await store.delete(key: "k") }
                #expect(error?.kind == kind)
            }
        }
        // A proxy that does not know the way is not the service.
        for body in ["", "<html/>"] {
            _ = try await with([(404, body), (404, body)]) { store in
                let kept = await #expect(throws: ObjectStoreError.self) { try await store.delete(key: "k") }
                #expect(kept?.kind == .unavailable)
                let open = await #expect(throws: ObjectStoreError.self) {
                    try await store.abortMultipart(key: "k", upload: "u")
                }
                #expect(open?.kind == .unavailable)
            }
        }
    }

    @Test func theSizeAndTheDigestOfAnObjectAreRead() async throws {
        let sha256 = Digest.sha256([1])
        for (checksum, expected) in [
            (Base64.encode(sha256), sha256), ("\(Base64.encode(sha256))-2", nil), ("AAAA", nil), (nil, nil),
        ] as [(String?, [UInt8]?)] {
            let field = checksum.map { "x-amz-checksum-sha256: \($0)\r\n" } ?? ""
            let fields = "content-length: 12345678901\r\n\(field)"
            let requests = try await with([(200, "")], fields: fields) { store in
                let object = try await store.head(key: "k")
                #expect(object == StoredObject(size: 12_345_678_901, sha256: expected))
            }
            #expect(requests.first?.hasPrefix("HEAD /photos/p/k?") == true)
            #expect(requests.first?.contains("\r\nx-amz-checksum-mode: ENABLED\r\n") == true)
        }
        _ = try await with([(403, ""), (503, "")], fields: "content-length: 0\r\n") { store in
            for kind in [ObjectStoreError.Kind.refused, .unavailable] {
                let error = await #expect(throws: ObjectStoreError.self) {
                    _ = try await store.head(key: "k")
                }
                #expect(error?.kind == kind)
            }
        }
    }

    /// An answer to HEAD has no body that says what is not there; what follows from it is not undone.
    @Test func anObjectIsMissingWhereTheServiceSaysThatItIs() async throws {
        let requests = try await with([(404, ""), (404, Self.error("NoSuchKey"))]) { store in
            let found = try await store.head(key: "k")
            #expect(found == nil)
        }
        #expect(requests.map { $0.split(separator: " ")[0] } == ["HEAD", "GET"])
        #expect(requests.last?.contains("\r\nrange: bytes=0-0\r\n") == true)
        for (status, body, kind) in [
            (404, Self.error("NoSuchBucket"), .refused), (404, "", .unavailable),
            (403, Self.error("AccessDenied"), .refused),
            (503, "", .unavailable), (206, "x", .unavailable),
        ] as [(Int, String, ObjectStoreError.Kind)] {
            _ = try await with([(404, ""), (status, body)]) { store in
                let error = await #expect(throws: ObjectStoreError.self) {
                    _ = try await store.head(key: "k")
                }
                #expect(error?.kind == kind, "\(status) \(body)")
            }
        }
    }

    @Test func aServiceThatIsAwayIsUnavailable() async throws {
        let script = Script([])
        try await with(script) { store in
            let error = await #expect(throws: ObjectStoreError.self) { try await store.delete(key: "k") }
            #expect(error?.kind == .unavailable)
            #expect(error?.message.contains("canary") == false && error?.message.contains("photos") == false)
        }
    }

    @Test func hostileKeysAreNotAskedFor() async throws {
        let requests = try await with([]) { store in
            for key in ["../k", "", "a b", "a?b"] {
                await #expect(throws: ObjectStoreError.self) { try await store.delete(key: key) }
                await #expect(throws: ObjectStoreError.self) { _ = try await store.head(key: key) }
                await #expect(throws: ObjectStoreError.self) {
                    _ = try await store.parts(key: key, upload: "u")
                }
                #expect(throws: ObjectStoreError.self) {
                    try store.signDownload(key: key, contentType: "a/b", disposition: "", at: 0)
                }
            }
        }
        #expect(requests.isEmpty)
    }

    /// What a device must send is in the list; the length it says by itself, and it is signed.
    @Test func aSignedUploadNamesWhatMustBeSent() async throws {
        _ = try await with([]) { store in
            let digest = Digest.sha256([1])
            let whole = try store.signUpload(
                key: "k", contentType: "image/png", size: 7, sha256: digest, at: 1_369_353_600)
            #expect(whole.method == "PUT" && whole.expiresAt == "2013-05-24T00:15:00Z")
            #expect(whole.headers.map(\.name) == ["content-type", "x-amz-checksum-sha256", "if-none-match"])
            #expect(whole.headers.map(\.value) == ["image/png", Base64.encode(digest), "*"])
            let names = "content-length%3Bcontent-type%3Bhost%3Bif-none-match%3Bx-amz-checksum-sha256"
            #expect(whole.url.contains("&X-Amz-Expires=900&X-Amz-SignedHeaders=\(names)&"))
            let part = try store.signPart(
                key: "k", upload: "u", number: 3, size: 7, sha256: digest, at: 1_369_353_600)
            #expect(part.url.contains("/photos/p/k?partNumber=3&uploadId=u&"))
            #expect(part.headers.map(\.name) == ["x-amz-checksum-sha256"])
            #expect(part.url.contains("SignedHeaders=content-length%3Bhost%3Bx-amz-checksum-sha256&"))
            let download = try store.signDownload(
                key: "k", contentType: "image/png", disposition: "inline; filename=\"ä\"", at: 1_369_353_600)
            #expect(download.method == "GET" && download.headers.isEmpty)
            #expect(download.expiresAt == "2013-05-24T00:05:00Z")
            #expect(download.url.contains("?response-content-type=image%2Fpng&"))
            let disposition = "inline%3B%20filename%3D%22%C3%A4%22"
            #expect(download.url.contains("&response-content-disposition=\(disposition)&X-Amz-Algorithm="))
        }
    }
}
