import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncSystem

/// Serves the URLs of the disk store: PUT of an object or a part, GET of an object (backend 10.2).
///
/// Statuses are those of S3: 403 for a signature that does not fit or is late, so also for any other method, HEAD with the URL
/// of a GET among them; 400 for other bytes than announced, 411
/// without a length, 412 where something is stored, 206 and 416 for a range, 507 when the disk is full. Bodies go from
/// and to files in pieces, and files are read and written on threads of their own.
package struct BlobRoutes: Sendable {
    /// What the path of every URL begins with.
    package static let path = "/api/v1/blobs/"

    private let store: DiskStore
    private let now: @Sendable () -> Int64
    private let uniqueName: @Sendable () -> String
    private let transfers: TransferSlots
    /// The bytes a second that a client must take of what it waits for.
    private let bytesPerSecond: Double
    private let clock: @Sendable () -> ContinuousClock.Instant
    private let log: Log

    /// The most transfers at a time.
    package static let mostTransfers = 512
    /// The most of one user.
    package static let transfersPerUser = 16
    /// How long a client may take to come up to its pace.
    static let grace = Duration.seconds(30)

    /// Makes the routes of a store.
    ///
    /// - Parameters:
    ///   - store: the store.
    ///   - now: tells the seconds since 1970.
    ///   - uniqueName: makes a name for a request that has none.
    ///   - transfers: how many there may be at a time; each holds up to 256 KiB, and one more is told to come again.
    ///   - perUser: how many of one user.
    ///   - bytesPerSecond: how fast a client must take an answer that it is waited for.
    ///   - clock: tells how long it is waited for.
    ///   - log: is told what is wrong with the disk; never keys.
    package init(
        store: DiskStore, now: @escaping @Sendable () -> Int64,
        uniqueName: @escaping @Sendable () -> String = BackendEnvironment().uniqueName,
        transfers: Int = BlobRoutes.mostTransfers, perUser: Int = BlobRoutes.transfersPerUser,
        bytesPerSecond: Int = 64 << 10,
        clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, log: Log
    ) {
        self.store = store
        self.now = now
        self.uniqueName = uniqueName
        self.transfers = TransferSlots(limit: transfers, perUser: perUser)
        self.bytesPerSecond = Double(bytesPerSecond)
        self.clock = clock
        self.log = log
    }

    /// How many transfers there are, for tests.
    var transferCount: Int { transfers.count }

    /// Answers a request.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - body: its body, read as it comes, and only where it is allowed.
    /// - Returns: the answer.
    package func answer(_ request: HTTPRequest, _ body: any HTTPRequestBody) async -> HTTPResponse {
        var response: HTTPResponse
        do {
            response = try await perform(request, body)
        } catch {
            Self.tell(error, log)
            response = Problem.blob(error).response(
                requestID: request.fields["x-request-id"] ?? uniqueName())
            if let range = (error as? UnsatisfiableRange)?.field { response.fields["content-range"] = range }
        }
        response.fields["x-content-type-options"] = "nosniff"
        return response
    }

    /// Tells what is the operator's to set right; the message of an error may have a key.
    private static func tell(_ error: any Error, _ log: Log) {
        guard let error = error as? SystemError else { return }
        let reason = error.errno == 0 ? "what is stored is not as it was" : SystemError.text(of: error.errno)
        log.error("the disk of the store of attachments fails", ["error": reason])
    }

    private func perform(_ request: HTTPRequest, _ body: any HTTPRequestBody) async throws -> HTTPResponse {
        let path = request.path
        guard path.hasPrefix(Self.path) else { throw Problem.noSuchRoute }
        let key = String(path.dropFirst(Self.path.count))
        switch request.method {
        case "GET": return try await get(key, request)
        case "PUT": return try await put(key, request, body)
        // No URL was signed for it.
        default: throw Problem.signatureDoesNotMatch
        }
    }

    // MARK: Storing

    private func put(
        _ key: String, _ request: HTTPRequest, _ body: any HTTPRequestBody
    ) async throws -> HTTPResponse {
        let query = Query(request)
        // Without one the body comes in chunks.
        guard let size = body.length else { throw Problem.lengthRequired }
        let checksum = request.fields["x-amz-checksum-sha256"] ?? ""
        let (use, target): (BlobGrant.Use, BlobUpload.Target)
        if let upload = query["upload"] {
            let number = query["part"].flatMap { Int($0) } ?? 0
            use = .part(upload: upload, number: number, size: size, sha256: checksum)
            target = .part(number, upload: upload, key: key)
        } else {
            guard request.fields["if-none-match"] == "*" else { throw Problem.signatureDoesNotMatch }
            let contentType = request.fields["content-type"] ?? ""
            use = .upload(contentType: contentType, size: size, sha256: checksum)
            target = .object(key)
        }
        try check(key, use, query)
        guard let sha256 = Base64.decodeExactly(checksum) else { throw Problem.otherChecksum }
        let slot = try takeSlot(query)
        try await BlobUpload(store: store, target: target, size: size, sha256: sha256).receive(body)
        // Until here, at least.
        withExtendedLifetime(slot) {}
        return HTTPResponse(
            status: 200, fields: ["etag": "\"\(key)\"", "cache-control": "no-store"], body: .empty)
    }

    // MARK: Reading

    private func get(_ key: String, _ request: HTTPRequest) async throws -> HTTPResponse {
        let query = Query(request)
        let (contentType, disposition) = (query["type"] ?? "", query["disposition"] ?? "")
        try check(key, .download(contentType: contentType, disposition: disposition), query)
        let slot = try takeSlot(query)
        let path = store.folder.object(key)
        guard let file = try await store.work.run({ try BlobFile(path: path) }) else {
            throw Problem.noSuchObject
        }
        var response = HTTPResponse(status: 200)
        var range = 0..<file.size
        switch BlobRange(request.fields["range"], size: file.size) {
        case .whole: break
        case .unsatisfiable: throw UnsatisfiableRange(size: file.size)
        case .part(let part):
            range = part
            response.status = 206
            response.fields["content-range"] =
                "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(file.size)"
        }
        response.fields["content-type"] = contentType
        if !disposition.isEmpty { response.fields["content-disposition"] = disposition }
        response.fields["accept-ranges"] = "bytes"
        response.fields["etag"] = "\"\(key)\""
        response.fields["cache-control"] = "private"
        response.body = body(range, of: file)
        response.lease = slot
        return response
    }

    /// The bytes of a range, which are read a piece at a time as they are sent.
    ///
    /// A client that is waited for longer than its bytes take at `bytesPerSecond` ends it: else one could have a place for
    /// weeks. The time that the disk takes is none of the client's.
    private func body(_ range: Range<Int64>, of file: BlobFile) -> HTTPResponseBody {
        .sized(Int64(range.count)) { [work = store.work, bytesPerSecond, clock, log] writer in
            var offset = range.lowerBound
            var waited = Duration.zero
            while offset < range.upperBound {
                let begin = offset
                let count = Int(min(Int64(BlobUpload.piece), range.upperBound - offset))
                let bytes: [UInt8]
                do {
                    bytes = try await work.run { try file.read(at: begin, count: count) }
                    if bytes.isEmpty { throw SystemError(.file, "an object is shorter than it was") }
                } catch {
                    // The status is sent already: nobody else tells.
                    Self.tell(error, log)
                    throw error
                }
                let start = clock()
                try await writer.write(bytes)
                waited += clock() - start
                offset += Int64(bytes.count)
                let allowed = Self.grace + .seconds(Double(offset - range.lowerBound) / bytesPerSecond)
                if waited > allowed { throw HTTPError(.bodyTimeout, "the client takes too few bytes") }
            }
        }
    }

    // MARK: Signatures

    /// The first value of each name of a query.
    private struct Query {
        private let pairs: [(name: String, value: String)]

        init(_ request: HTTPRequest) { pairs = request.query }

        subscript(_ name: String) -> String? { pairs.first { $0.name == name }?.value }
    }

    private func check(_ key: String, _ use: BlobGrant.Use, _ query: Query) throws(Problem) {
        guard ObjectKey.isValid(key), let code = query["sig"],
            let expiry = query["exp"].flatMap({ Int64($0) }),
            store.allows(
                BlobGrant(key: key, expiry: expiry, user: query["user"] ?? "", use: use), code: code)
        else { throw .signatureDoesNotMatch }
        guard now() <= expiry else { throw .signatureExpired }
    }

    /// A place for the user whom the URL names, which is checked before.
    private func takeSlot(_ query: Query) throws(Problem) -> TransferSlots.Slot {
        guard let slot = transfers.take(for: query["user"] ?? "") else {
            throw .unavailable("overloaded", "Overloaded", retryAfter: 1)
        }
        return slot
    }
}

/// A range of which an object has no byte.
struct UnsatisfiableRange: Error {
    let size: Int64

    /// The field that says how many it has.
    var field: String { "bytes */\(size)" }
}
