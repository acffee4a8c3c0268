import PowerSyncHTTP
import PowerSyncWire

/// Builds requests to the service and judges its answers (client-core 5.1, client-api 2.3).
struct SyncHTTP: Sendable {
    /// Who we say we are.
    var userAgent: String
    /// Whether streams are asked for lines in BSON.
    var prefersBinaryLines = false

    /// The request that opens a stream.
    func stream(_ request: SyncStreamRequest, with credentials: SyncCredentials) -> SyncHTTPRequest {
        var headers = headers(credentials)
        headers.append(SyncHTTPHeader("Content-Type", "application/json"))
        let (json, bson) = (SyncLineFormat.json.mediaType, SyncLineFormat.bson.mediaType)
        headers.append(
            SyncHTTPHeader("Accept", prefersBinaryLines ? "\(bson);q=0.9,\(json);q=0.8" : json))
        return SyncHTTPRequest(
            method: "POST", url: credentials.address(of: "sync/stream"), headers: headers,
            body: request.json.utf8)
    }

    /// The request for a write checkpoint (client-api 3.6).
    func writeCheckpoint(clientID: String, with credentials: SyncCredentials) -> SyncHTTPRequest {
        SyncHTTPRequest(
            method: "GET",
            url: credentials.address(
                of: "write-checkpoint2.json?client_id=\(PercentEncoding.encode(clientID))"),
            headers: headers(credentials) + [SyncHTTPHeader("Accept", "application/json")])
    }

    /// The request for a checkpoint that includes all uploads so far (client-core 8.4).
    func checkpointRequest(
        _ request: CheckpointRequestBody, with credentials: SyncCredentials
    ) -> SyncHTTPRequest {
        SyncHTTPRequest(
            method: "POST", url: credentials.address(of: "sync/checkpoint-request"),
            headers: headers(credentials) + [
                SyncHTTPHeader("Content-Type", "application/json"),
                SyncHTTPHeader("Accept", "application/json"),
            ], body: request.json.utf8)
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
        let type = headers.first { $0.name.lowercased() == "content-type" }?.value ?? "none"
        let media = type.prefix { $0 != ";" && $0 != " " }.lowercased()
        guard let format = SyncLineFormat(mediaType: media) else {
            throw SyncError(
                .unexpectedResponse,
                "Invalid sync lines response: expected application/x-ndjson, got \(media)")
        }
        return format
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
            answer = try JSON.parse(response.body)
        } catch {
            throw SyncError(.unexpectedResponse, "\(failure): the answer is not JSON", cause: error)
        }
        let value = answer["data"]?[field]
        guard let id = value?.stringValue.flatMap({ Int64($0) }) ?? value?.int64Value else {
            throw SyncError(.unexpectedResponse, "\(failure): the answer lacks data.\(field)")
        }
        return id
    }

    private func headers(_ credentials: SyncCredentials) -> [SyncHTTPHeader] {
        [
            SyncHTTPHeader("Authorization", "Token \(credentials.token)"),
            SyncHTTPHeader("User-Agent", userAgent),
        ]
    }
}
