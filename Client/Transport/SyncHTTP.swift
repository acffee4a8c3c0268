import PowerSyncHTTP
import PowerSyncWire

/// Builds requests to the service and judges its answers (client-core 5.1, client-api 2.3).
struct SyncHTTP: Sendable {
    /// Who we say we are.
    var userAgent: String
    /// Whether streams are asked for lines in BSON; what the service answers is taken either way.
    var prefersBinaryLines = true
    /// Whether answers may come compressed.
    var acceptsCompression = true

    /// The media types that the official SDKs take, BSON before JSON (service 1.5).
    private static let bothMediaTypes =
        "\(SyncLineFormat.bson.mediaType);q=0.9,\(SyncLineFormat.json.mediaType);q=0.8"

    /// The request that opens a stream.
    func stream(_ request: SyncStreamRequest, with credentials: SyncCredentials) -> SyncHTTPRequest {
        self.request(
            to: "sync/stream", with: credentials,
            accepting: prefersBinaryLines ? Self.bothMediaTypes : SyncLineFormat.json.mediaType,
            posting: request.json)
    }

    /// The request for a write checkpoint (client-api 3.6).
    func writeCheckpoint(clientID: String, with credentials: SyncCredentials) -> SyncHTTPRequest {
        request(
            to: "write-checkpoint2.json?client_id=\(PercentEncoding.encode(clientID))", with: credentials)
    }

    /// The request for a checkpoint that includes all uploads so far (client-core 8.4).
    func checkpointRequest(
        _ request: CheckpointRequestBody, with credentials: SyncCredentials
    ) -> SyncHTTPRequest {
        self.request(to: "sync/checkpoint-request", with: credentials, posting: request.json)
    }

    private func request(
        to path: String, with credentials: SyncCredentials, accepting media: String = "application/json",
        posting body: JSON? = nil
    ) -> SyncHTTPRequest {
        var headers = [
            SyncHTTPHeader("Authorization", "Token \(credentials.token)"),
            SyncHTTPHeader("User-Agent", userAgent),
        ]
        if body != nil { headers.append(SyncHTTPHeader("Content-Type", "application/json")) }
        headers.append(SyncHTTPHeader("Accept", media))
        var request = SyncHTTPRequest(
            method: body == nil ? "GET" : "POST", url: credentials.address(of: path), headers: headers,
            body: body?.utf8)
        request.acceptsCompression = acceptsCompression
        return request
    }

    /// Checks the head of a stream; 401 before the media type, since its body is plain JSON.
    ///
    /// - Returns: how the lines of the body are spelled.
    static func format(
        status: Int, headers: [SyncHTTPHeader], of request: SyncHTTPRequest
    ) throws(SyncError) -> SyncLineFormat {
        guard status == 200 else {
            throw SyncError(
                .httpStatus,
                "\(request.method) \(ShownText.address(request.url)) failed with status code \(status)",
                status: status)
        }
        guard let format = Self.format(headers) else {
            throw SyncError(
                .unexpectedResponse,
                "Invalid sync lines response: expected application/x-ndjson, got \(mediaType(headers))")
        }
        return format
    }

    /// Reads how the lines of a body are spelled; nil if it holds none.
    static func format(_ headers: [SyncHTTPHeader]) -> SyncLineFormat? {
        SyncLineFormat(mediaType: mediaType(headers))
    }

    private static func mediaType(_ headers: [SyncHTTPHeader]) -> String {
        let type = headers.first { $0.name.lowercased() == "content-type" }?.value ?? "none"
        return type.prefix { $0 != ";" && $0 != " " }.lowercased()
    }

    /// Returns the write checkpoint that a response holds.
    static func writeCheckpoint(from response: SyncHTTPResponse) throws(SyncError) -> Int64 {
        try number("write_checkpoint", in: response, failure: "Error getting write checkpoint")
    }

    /// Returns the id that a response to a checkpoint request holds.
    ///
    /// - Throws: `SyncError`, also for a service without that endpoint.
    static func checkpointRequest(from response: SyncHTTPResponse) throws(SyncError) -> Int64 {
        if response.status == 404 {
            throw SyncError(
                .httpStatus, "The service knows no checkpoint requests (404); it must be 1.24 or newer",
                status: 404)
        }
        return try number(
            "checkpoint_request_id", in: response, failure: "Error sending a checkpoint request")
    }

    private static func number(
        _ field: String, in response: SyncHTTPResponse, failure: String
    ) throws(SyncError) -> Int64 {
        guard response.status == 200 else {
            throw SyncError(.httpStatus, "\(failure): \(response.status)", status: response.status)
        }
        let answer: JSON
        do {
            answer = try JSON.parse(response.body, limits: .shortAnswer)
        } catch {
            let what = error.code == .tooLarge ? "is too large" : "is not JSON"
            throw SyncError(.unexpectedResponse, "\(failure): the answer \(what)", cause: error)
        }
        let value = answer["data"]?[field]
        guard let id = value?.stringValue.flatMap({ Int64($0) }) ?? value?.int64Value else {
            throw SyncError(.unexpectedResponse, "\(failure): the answer lacks data.\(field)")
        }
        // The service counts from 1; 0 would take the target away.
        guard id > 0 else {
            throw SyncError(.unexpectedResponse, "\(failure): data.\(field) of the answer is \(id)")
        }
        return id
    }
}
