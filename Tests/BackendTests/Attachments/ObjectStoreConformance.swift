import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncBackend

/// What every object store must do, asked as devices ask: over HTTP, with the URLs that it has signed.
struct ObjectStoreConformance: Sendable {
    /// What is checked, each with objects of its own.
    enum Check: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case whatIsStoredComesBack
        case anEmptyObjectIsStored
        case keysWithSlashesAreDifferentObjects
        case whatIsStoredNeverBecomesOtherBytes
        case otherRequestsThanSignedAreRefused
        case otherBytesThanSignedAreRefused
        case lateRequestsAreRefused
        case rangesAreRead
        case anUploadInPartsIsGoneOnWith
        case otherPartsThanSignedAreRefused
        case anUploadIsCompletedOnce
        case nothingIsCompletedOverWhatIsStored
        case anUploadThatWasEndedIsGone
        case whatIsDeletedIsGoneAndMayBeDeletedAgain
        case aStoreHasTheNamesThatItWasGiven

        var testDescription: String { rawValue }
    }

    let store: any ObjectStore
    let client: HTTPClient
    /// Seconds since 1970, as the store counts them.
    let now: @Sendable () -> Int64

    /// Checks one thing.
    func run(_ check: Check) async throws {
        switch check {
        case .whatIsStoredComesBack: try await storesAndReads()
        case .anEmptyObjectIsStored: try await storesNothing()
        case .keysWithSlashesAreDifferentObjects: try await tellsKeysApart()
        case .whatIsStoredNeverBecomesOtherBytes: try await storesOnce()
        case .otherRequestsThanSignedAreRefused: try await refusesOtherRequests()
        case .otherBytesThanSignedAreRefused: try await refusesOtherBytes()
        case .lateRequestsAreRefused: try await refusesLateRequests()
        case .rangesAreRead: try await readsRanges()
        case .anUploadInPartsIsGoneOnWith: try await goesOnWithParts()
        case .otherPartsThanSignedAreRefused: try await refusesOtherParts()
        case .anUploadIsCompletedOnce: try await completesOnce()
        case .nothingIsCompletedOverWhatIsStored: try await completesOverNothing()
        case .anUploadThatWasEndedIsGone: try await endsAnUpload()
        case .whatIsDeletedIsGoneAndMayBeDeletedAgain: try await deletes()
        case .aStoreHasTheNamesThatItWasGiven: try await takesNames()
        }
    }

    /// Of several databases, and of one again and again.
    private func takesNames() async throws {
        let names = [newKey(), newKey()]
        #expect(try await !store.isNamed(names[0]))
        for _ in 0..<2 { try await store.takeName(names[0]) }
        #expect(try await store.isNamed(names[0]))
        #expect(try await !store.isNamed(names[1]))
        try await store.takeName(names[1])
        #expect(try await store.isNamed(names[0]))
        #expect(try await store.isNamed(names[1]))
        #expect(try await store.head(key: names[0]) == nil, "it is no object of an attachment")
    }

    // MARK: Objects

    private func storesAndReads() async throws {
        let (key, bytes) = (newKey(), bytes(100_000))
        #expect(try await store.head(key: key) == nil)
        #expect(try await put(bytes, as: key) == 200)
        #expect(try await store.head(key: key)?.size == 100_000)
        let answer = try await get(key)
        #expect(answer.status == 200)
        #expect(answer.body == bytes)
        #expect(answer.fields["content-type"] == "image/png")
        #expect(answer.fields["content-disposition"] == "attachment; filename=\"a b.png\"")
        // A download may repeat until it is late.
        #expect(try await get(key).body == bytes)
    }

    private func storesNothing() async throws {
        let key = newKey()
        #expect(try await put([], as: key) == 200)
        #expect(try await store.head(key: key)?.size == 0)
        let answer = try await get(key)
        #expect(answer.status == 200 && answer.body.isEmpty)
    }

    private func tellsKeysApart() async throws {
        let key = newKey()
        let keys = ["\(key)/a/b", "\(key)/a-b", "\(key)/a_b", "\(key)/A/b"]
        for (index, key) in keys.enumerated() {
            #expect(try await put(Array("object \(index)".utf8), as: key) == 200)
        }
        for (index, key) in keys.enumerated() {
            #expect(try await get(key).body == Array("object \(index)".utf8), "\(key)")
        }
        #expect(try await store.head(key: "\(key)/a") == nil)
    }

    private func storesOnce() async throws {
        let (key, bytes) = (newKey(), bytes(1_000))
        let request = try upload(bytes, as: key)
        #expect(try await send(request, bytes).status == 200)
        #expect(try await send(request, bytes).status == 412)
        #expect(try await put(self.bytes(2_000), as: key) == 412)
        #expect(try await get(key).body == bytes)
    }

    private func refusesOtherRequests() async throws {
        let (key, other, bytes) = (newKey(), newKey(), bytes(1_000))
        let request = try upload(bytes, as: key)
        var others: [String: Request] = [:]
        others["another key"] = changed(request) { $0.url = $0.url.replacing(key, with: other) }
        others["another type"] = changed(request) { $0.fields["content-type"] = "text/html" }
        let checksum = Base64.encode(Digest.sha256([]))
        others["another checksum"] = changed(request) { $0.fields["x-amz-checksum-sha256"] = checksum }
        others["no condition"] = changed(request) { $0.fields.remove("if-none-match") }
        others["a signature that was altered"] = changed(request) { $0.alter() }
        others["another method"] = changed(request) { $0.method = "DELETE" }
        others["a download that is used to store"] = changed(try download(key)) {
            $0.method = "PUT"
            $0.fields = request.fields
        }
        for (what, request) in others {
            #expect(try await send(request, bytes).status == 403, "\(what)")
        }
        #expect(try await send(request, self.bytes(1_001)).status == 403, "another size")
        #expect(try await store.head(key: key) == nil)
        #expect(try await store.head(key: other) == nil)
        #expect(try await send(request, bytes).status == 200)
        let reading = try download(key)
        #expect(try await send(changed(reading) { $0.alter() }).status == 403)
        #expect(try await send(changed(reading) { $0.method = "DELETE" }).status == 403)
        let type = changed(reading) { $0.url = $0.url.replacing("image%2Fpng", with: "text%2Fhtml") }
        #expect(type.url != reading.url)
        #expect(try await send(type).status == 403)
        let unsigned = changed(reading) { $0.url = String($0.url.prefix { $0 != "?" }) }
        #expect(try await send(unsigned).body != bytes)
        #expect(try await store.head(key: key)?.size == 1_000)
    }

    private func refusesOtherBytes() async throws {
        let (key, bytes) = (newKey(), bytes(1_000))
        var others = bytes
        others[500] ^= 1
        let request = try upload(bytes, as: key)
        #expect(try await send(request, others).status == 400)
        #expect(try await store.head(key: key) == nil)
        #expect(try await send(request, bytes).status == 200)
    }

    private func refusesLateRequests() async throws {
        let (key, bytes) = (newKey(), bytes(1_000))
        let past = now() - 3_600
        let late = Request(
            try store.signUpload(
                key: key, contentType: "image/png", size: 1_000, sha256: Digest.sha256(bytes), at: past))
        #expect(try await send(late, bytes).status == 403)
        #expect(try await store.head(key: key) == nil)
        #expect(try await put(bytes, as: key) == 200)
        let reading = Request(
            try store.signDownload(key: key, contentType: "image/png", disposition: "inline", at: past))
        #expect(try await send(reading).status == 403)
        #expect(try await get(key).body == bytes)
    }

    private func readsRanges() async throws {
        let (key, bytes) = (newKey(), bytes(1_000))
        #expect(try await put(bytes, as: key) == 200)
        for (range, expected) in [
            ("bytes=0-9", 0..<10), ("bytes=990-", 990..<1_000), ("bytes=-10", 990..<1_000),
            ("bytes=999-5000", 999..<1_000), ("bytes=500-500", 500..<501),
        ] {
            let answer = try await get(key, fields: ["range": range])
            #expect(answer.status == 206, "\(range)")
            #expect(answer.body == Array(bytes[expected]), "\(range)")
            let place = "bytes \(expected.lowerBound)-\(expected.upperBound - 1)/1000"
            #expect(answer.fields["content-range"] == place, "\(range)")
        }
        #expect(try await get(key, fields: ["range": "bytes=1000-"]).status == 416)
    }

    private func deletes() async throws {
        let (key, bytes) = (newKey(), bytes(1_000))
        try await store.delete(key: key)
        #expect(try await put(bytes, as: key) == 200)
        try await store.delete(key: key)
        #expect(try await store.head(key: key) == nil)
        #expect(try await get(key).status == 404)
        try await store.delete(key: key)
    }

    // MARK: Parts

    /// Each part but the last has the size that the backend uses: S3 takes none below 5 MiB.
    private static let partSize = 8 << 20

    private func goesOnWithParts() async throws {
        let (key, bytes) = (newKey(), bytes(Self.partSize + 1_000))
        let (first, second) = (Array(bytes[..<Self.partSize]), Array(bytes[Self.partSize...]))
        let upload = try await store.createMultipart(key: key, contentType: "image/png")
        #expect(try await store.parts(key: key, upload: upload) == [])
        #expect(try await put(second, as: 2, of: upload, for: key) == 200)
        let begun = try #require(try await store.parts(key: key, upload: upload))
        #expect(begun.map(\.number) == [2] && begun.map(\.size) == [1_000])
        // Another session goes on; a part that was sent may be sent again.
        for _ in 0..<2 { #expect(try await put(first, as: 1, of: upload, for: key) == 200) }
        let parts = try #require(try await store.parts(key: key, upload: upload))
        #expect(parts.map(\.number) == [1, 2] && parts.map(\.size) == [Int64(Self.partSize), 1_000])
        #expect(try await store.head(key: key) == nil)
        try await store.completeMultipart(key: key, upload: upload, parts: parts)
        #expect(try await store.head(key: key)?.size == Int64(bytes.count))
        #expect(try await get(key).body == bytes)
        let middle = Self.partSize - 10..<Self.partSize + 10
        let range = try await get(
            key, fields: ["range": "bytes=\(middle.lowerBound)-\(middle.upperBound - 1)"])
        #expect(range.status == 206 && range.body == Array(bytes[middle]))
        // What is complete is an object like any other.
        #expect(try await put(self.bytes(10), as: key) == 412)
    }

    private func refusesOtherParts() async throws {
        let (key, bytes) = (newKey(), bytes(1_000))
        let upload = try await store.createMultipart(key: key, contentType: "image/png")
        let another = try await store.createMultipart(key: key, contentType: "image/png")
        let request = try part(bytes, as: 7, of: upload, for: key)
        var others: [String: Request] = [:]
        others["another number"] = changed(request) {
            // As either store spells it.
            $0.url = $0.url.replacing("partNumber=7&", with: "partNumber=8&")
                .replacing("&part=7&", with: "&part=8&")
        }
        others["another upload"] = changed(request) {
            $0.url = $0.url.replacing(PercentEncoding.encode(upload), with: PercentEncoding.encode(another))
        }
        others["an altered signature"] = changed(request) { $0.alter() }
        for (what, other) in others {
            #expect(other.url != request.url, "\(what)")
            #expect(try await send(other, bytes).status == 403, "\(what)")
        }
        #expect(try await send(request, self.bytes(999)).status == 403, "another size")
        var altered = bytes
        altered[0] ^= 1
        #expect(try await send(request, altered).status == 400, "other bytes")
        let late = Request(
            try store.signPart(
                key: key, upload: upload, number: 7, size: 1_000, sha256: Digest.sha256(bytes),
                at: now() - 3_600))
        #expect(try await send(late, bytes).status == 403, "late")
        #expect(try await store.parts(key: key, upload: upload) == [])
        #expect(try await send(request, bytes).status == 200)
        #expect(try await store.parts(key: key, upload: upload)?.map(\.number) == [7])
        #expect(try await store.parts(key: newKey(), upload: upload) == nil)
        for upload in [upload, another] { try await store.abortMultipart(key: key, upload: upload) }
    }

    private func completesOnce() async throws {
        let (key, bytes) = (newKey(), bytes(1_000))
        let upload = try await store.createMultipart(key: key, contentType: "image/png")
        #expect(try await put(bytes, as: 1, of: upload, for: key) == 200)
        let parts = try #require(try await store.parts(key: key, upload: upload))
        try await store.completeMultipart(key: key, upload: upload, parts: parts)
        do {
            // S3 takes it for the answer to the first call.
            try await store.completeMultipart(key: key, upload: upload, parts: parts)
        } catch let error as ObjectStoreError {
            #expect(error.kind == .conflict)
        }
        #expect(try await get(key).body == bytes)
        try await store.abortMultipart(key: key, upload: upload)
        #expect(try await get(key).body == bytes)
    }

    private func completesOverNothing() async throws {
        let (key, bytes) = (newKey(), bytes(1_000))
        let upload = try await store.createMultipart(key: key, contentType: "image/png")
        #expect(try await put(self.bytes(500), as: 1, of: upload, for: key) == 200)
        let parts = try #require(try await store.parts(key: key, upload: upload))
        #expect(try await put(bytes, as: key) == 200)
        let error = await #expect(throws: ObjectStoreError.self) {
            try await store.completeMultipart(key: key, upload: upload, parts: parts)
        }
        #expect(error?.kind == .conflict)
        #expect(try await get(key).body == bytes)
        try await store.abortMultipart(key: key, upload: upload)
        #expect(try await get(key).body == bytes)
    }

    private func endsAnUpload() async throws {
        let (key, bytes) = (newKey(), bytes(1_000))
        let upload = try await store.createMultipart(key: key, contentType: "image/png")
        let request = try part(bytes, as: 1, of: upload, for: key)
        #expect(try await send(request, bytes).status == 200)
        try await store.abortMultipart(key: key, upload: upload)
        #expect(try await store.parts(key: key, upload: upload) == nil)
        #expect(try await send(request, bytes).status == 404)
        try await store.abortMultipart(key: key, upload: upload)
        #expect(try await store.head(key: key) == nil)
        let parts = [StoredPart(number: 1, size: 1_000, tag: "\"0123456789abcdef0123456789abcdef\"")]
        let error = await #expect(throws: ObjectStoreError.self) {
            try await store.completeMultipart(key: key, upload: upload, parts: parts)
        }
        #expect(error?.kind == .conflict)
    }

    // MARK: Requests

    private func newKey() -> String { "conformance/\(Hexadecimal.encode(randomBytes(16)))" }

    private func bytes(_ count: Int) -> [UInt8] { randomBytes(count) }

    private func upload(_ bytes: [UInt8], as key: String) throws -> Request {
        Request(
            try store.signUpload(
                key: key, contentType: "image/png", size: Int64(bytes.count), sha256: Digest.sha256(bytes),
                at: now()))
    }

    private func part(
        _ bytes: [UInt8], as number: Int, of upload: String, for key: String
    ) throws -> Request {
        Request(
            try store.signPart(
                key: key, upload: upload, number: number, size: Int64(bytes.count),
                sha256: Digest.sha256(bytes), at: now()))
    }

    private func download(_ key: String) throws -> Request {
        Request(
            try store.signDownload(
                key: key, contentType: "image/png", disposition: "attachment; filename=\"a b.png\"",
                at: now()))
    }

    private func put(_ bytes: [UInt8], as key: String) async throws -> Int {
        try await send(try upload(bytes, as: key), bytes).status
    }

    private func put(
        _ bytes: [UInt8], as number: Int, of upload: String, for key: String
    ) async throws -> Int {
        try await send(try part(bytes, as: number, of: upload, for: key), bytes).status
    }

    private func get(_ key: String, fields: HTTPFields = [:]) async throws -> HTTPClientResponse {
        try await send(try download(key), fields: fields)
    }

    private func send(
        _ signed: Request, _ body: [UInt8]? = nil, fields: HTTPFields = [:]
    ) async throws -> HTTPClientResponse {
        var request = HTTPClientRequest(
            method: signed.method, url: signed.url, fields: signed.fields,
            body: signed.method == "PUT" ? body : nil)
        for (name, value) in fields { request.fields.append(name, value) }
        request.connectTimeout = TestOptions.deadline
        request.idleTimeout = TestOptions.deadline
        return try await client.send(request, bodyLimit: 32 << 20)
    }

    /// A signed request that a test may change.
    private struct Request {
        var method: String
        var url: String
        var fields: HTTPFields

        init(_ signed: SignedRequest) {
            method = signed.method
            url = signed.url
            fields = [:]
            for field in signed.headers { fields.append(field.name, field.value) }
        }

        /// Changes the last digit of the signature, with which the URL of either store ends.
        mutating func alter() {
            let last = url.removeLast()
            url.append(last == "0" ? "1" : "0")
        }
    }

    private func changed(_ request: Request, _ change: (inout Request) -> Void) -> Request {
        var changed = request
        change(&changed)
        return changed
    }
}
