import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncWire
import PowerSyncXML

/// Objects in a bucket of a service that speaks as S3 does.
///
/// URLs for devices are signed with Signature Version 4, and so is what is asked here. That nothing which is stored
/// becomes other bytes stands on `If-None-Match: *`: the service has to know it for PUT and for completing an upload.
package final class S3Store: ObjectStore {
    /// How many seconds a URL is good that is used at once.
    private static let ownLifetime: Int64 = 300
    /// How many parts a page has.
    private static let pageSize = 1_000
    /// The most bytes of an answer: a page of parts.
    private static let answerLimit = 4 << 20

    private let configuration: S3Configuration
    private let client: HTTPClient
    private let now: @Sendable () -> Int64

    /// Makes a store; nothing is asked before it is used.
    ///
    /// - Parameters:
    ///   - configuration: where the bucket is.
    ///   - client: sends requests.
    ///   - now: tells the seconds since 1970 as the service does, for what is asked here.
    package init(
        _ configuration: S3Configuration, client: HTTPClient,
        now: @escaping @Sendable () -> Int64 = { WallClock.microseconds() / 1_000_000 }
    ) {
        self.configuration = configuration
        self.client = client
        self.now = now
    }

    // MARK: Signing

    package func signUpload(
        key: String, contentType: String, size: Int64, sha256: [UInt8], for user: String, at now: Int64
    ) throws -> SignedRequest {
        try ObjectKey.check(key)
        let fields = Self.uploadFields(contentType, Self.checksumField(sha256))
        return signed("PUT", key, fields: fields, size: size, at: now, ObjectStoreLifetime.upload)
    }

    package func signDownload(
        key: String, contentType: String, disposition: String, for user: String, at now: Int64
    ) throws -> SignedRequest {
        try ObjectKey.check(key)
        var query = [(name: "response-content-type", value: contentType)]
        if !disposition.isEmpty {
            query.append((name: "response-content-disposition", value: disposition))
        }
        return signed("GET", key, query: query, at: now, ObjectStoreLifetime.download)
    }

    package func signPart(
        key: String, upload: String, number: Int, size: Int64, sha256: [UInt8], for user: String,
        at now: Int64
    ) throws -> SignedRequest {
        try ObjectKey.check(key)
        try ObjectKey.check(part: number, size: size)
        return signed(
            "PUT", key,
            query: [(name: "partNumber", value: String(number)), (name: "uploadId", value: upload)],
            fields: [Self.checksumField(sha256)], size: size, at: now, ObjectStoreLifetime.upload)
    }

    /// Signs a request of a device.
    ///
    /// - Parameters:
    ///   - method: the method.
    ///   - key: the object.
    ///   - query: what the URL asks for.
    ///   - fields: what must be sent.
    ///   - size: the bytes of the body, which are signed, too; nil for none.
    ///   - now: seconds since 1970.
    ///   - lifetime: for how many seconds it is good.
    /// - Returns: the request.
    private func signed(
        _ method: String, _ key: String, query: [(name: String, value: String)] = [],
        fields: [(name: String, value: String)] = [], size: Int64? = nil, at now: Int64, _ lifetime: Int64
    ) -> SignedRequest {
        let length = size.map { [(name: "content-length", value: String($0))] } ?? []
        let url = configuration.presigned(
            method: method, key: key, query: query, fields: fields + length, at: now, lifetime: lifetime)
        return SignedRequest(method: method, url: url, fields: fields, expiry: now + lifetime)
    }

    // MARK: Parts

    package func createMultipart(key: String, contentType: String) async throws -> String {
        try ObjectKey.check(key)
        let what = "begin an upload"
        let (answer, _) = try await ask(
            what, "POST", key, query: [(name: "uploads", value: "")],
            // Without the second one S3 takes no part that says its SHA-256.
            fields: [
                (name: "content-type", value: contentType),
                (name: "x-amz-checksum-algorithm", value: "SHA256"),
            ])
        guard let upload = answer.uploadID else { throw answer.failure(what) }
        return upload
    }

    package func parts(key: String, upload: String) async throws -> [StoredPart]? {
        try ObjectKey.check(key)
        let what = "list the parts of an upload"
        var parts: [StoredPart] = []
        var marker = 0
        while true {
            let (answer, _) = try await ask(
                what, "GET", key,
                query: [
                    (name: "max-parts", value: String(Self.pageSize)),
                    (name: "part-number-marker", value: String(marker)), (name: "uploadId", value: upload),
                ])
            if answer.isMissing { return nil }
            guard let (page, following) = answer.parts else { throw answer.failure(what) }
            parts += page
            guard let next = following else { return parts.sorted { $0.number < $1.number } }
            // Else it would be asked for the same page for ever.
            guard next > marker, parts.count <= ObjectKey.partNumbers.upperBound else {
                throw answer.failure(what)
            }
            marker = next
        }
    }

    package func completeMultipart(
        key: String, upload: String, parts: [StoredPart], sha256: [UInt8]?
    ) async throws {
        try ObjectKey.check(key)
        try ObjectKey.check(parts)
        let what = "complete an upload"
        let (answer, _) = try await ask(
            what, "POST", key, query: [(name: "uploadId", value: upload)],
            fields: [
                (name: "content-type", value: "application/xml"), (name: "if-none-match", value: "*"),
            ], body: Self.list(of: parts))
        guard answer.isComplete else { throw answer.failure(what) }
    }

    package func abortMultipart(key: String, upload: String) async throws {
        try ObjectKey.check(key)
        let what = "end an upload"
        let (answer, _) = try await ask(what, "DELETE", key, query: [(name: "uploadId", value: upload)])
        guard answer.isSuccess || answer.isMissing else { throw answer.failure(what) }
    }

    /// The parts as `CompleteMultipartUpload` names them.
    private static func list(of parts: [StoredPart]) -> [UInt8] {
        var text = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
        for part in parts {
            text += "<Part><PartNumber>\(part.number)</PartNumber><ETag>\(XMLText.escape(part.tag))</ETag>"
            if let sha256 = part.sha256 {
                text += "<ChecksumSHA256>\(XMLText.escape(sha256))</ChecksumSHA256>"
            }
            text += "</Part>"
        }
        return Array((text + "</CompleteMultipartUpload>").utf8)
    }

    // MARK: Objects

    package func head(key: String) async throws -> StoredObject? {
        try ObjectKey.check(key)
        let what = "look at an object"
        let (answer, fields) = try await ask(
            what, "HEAD", key, fields: [(name: "x-amz-checksum-mode", value: "ENABLED")])
        if answer.status == 404 {
            // Without a body nobody can tell an object that is not there from a bucket.
            let (reason, _) = try await ask(what, "GET", key, fields: [(name: "range", value: "bytes=0-0")])
            if reason.isSuccess {
                throw ObjectStoreError(
                    .unavailable, "the object store is not sure whether an object is there")
            }
            guard reason.code == "NoSuchKey" else { throw reason.failure(what) }
            return nil
        }
        guard answer.isSuccess, let size = fields["content-length"].flatMap({ Int64($0) }) else {
            throw answer.failure(what)
        }
        // That of an object made of parts is a digest of digests, with their count behind it.
        let sha256 = fields["x-amz-checksum-sha256"].flatMap { Base64.decodeExactly($0) }
        return StoredObject(size: size, sha256: sha256?.count == 32 ? sha256 : nil)
    }

    package func delete(key: String) async throws {
        try ObjectKey.check(key)
        let what = "remove an object"
        let (answer, _) = try await ask(what, "DELETE", key)
        guard answer.isSuccess || answer.isMissing else { throw answer.failure(what) }
    }

    // MARK: The name of the store

    package func isNamed(_ name: String) async throws -> Bool {
        try await head(key: Self.nameFolder + name) != nil
    }

    package func takeName(_ name: String) async throws {
        let key = Self.nameFolder + name
        try ObjectKey.check(key)
        let what = "take a name"
        let (answer, _) = try await ask(
            what, "PUT", key, fields: [(name: "content-type", value: "text/plain")], body: Array(name.utf8))
        guard answer.isSuccess else { throw answer.failure(what) }
    }

    /// What the keys of names begin with; no attachment has a key with a slash.
    private static let nameFolder = "store-name/"

    /// Sends a request of the backend.
    ///
    /// - Parameters:
    ///   - what: what is asked for, in words that complete "the object store does not …".
    ///   - method: the method.
    ///   - key: the object.
    ///   - query: what the URL asks for.
    ///   - fields: the header fields; all are signed.
    ///   - body: the body; nil for none.
    /// - Returns: the answer, whatever its status, and its header fields.
    /// - Throws: `ObjectStoreError` where there is none, `CancellationError`.
    private func ask(
        _ what: String, _ method: String, _ key: String, query: [(name: String, value: String)] = [],
        fields: [(name: String, value: String)] = [], body: [UInt8]? = nil
    ) async throws -> (S3Answer, HTTPFields) {
        let url = configuration.presigned(
            method: method, key: key, query: query, fields: fields, at: now(), lifetime: Self.ownLifetime)
        var request = HTTPClientRequest(method: method, url: url, body: body)
        for (name, value) in fields { request.fields.append(name, value) }
        request.totalTimeout = .seconds(Self.ownLifetime)
        do {
            let response = try await client.send(request, bodyLimit: Self.answerLimit)
            return (S3Answer(status: response.status, body: response.body), response.fields)
        } catch let error as HTTPClientError {
            throw S3Answer.failure(error, what)
        }
    }
}
