import PowerSyncWire

/// Builds requests to the service and judges its answers (client-core 5.1, client-api 2.3).
struct SyncHTTP: Sendable {
    /// Who we say we are.
    var userAgent: String

    /// The request that opens a stream.
    func stream(_ request: SyncStreamRequest, with credentials: SyncCredentials) -> SyncHTTPRequest {
        var headers = headers(credentials)
        headers.append(SyncHTTPHeader("Content-Type", "application/json"))
        headers.append(SyncHTTPHeader("Accept", "application/x-ndjson"))
        return SyncHTTPRequest(
            method: "POST", url: url("sync/stream", of: credentials), headers: headers,
            body: request.json.utf8)
    }

    /// The request for a write checkpoint (client-api 3.6).
    func writeCheckpoint(clientID: String, with credentials: SyncCredentials) -> SyncHTTPRequest {
        SyncHTTPRequest(
            method: "GET",
            url: url("write-checkpoint2.json?client_id=\(Self.encoded(clientID))", of: credentials),
            headers: headers(credentials) + [SyncHTTPHeader("Accept", "application/json")])
    }

    /// Checks the head of a stream; 401 before the media type, since its body is plain JSON.
    static func check(
        status: Int, headers: [SyncHTTPHeader], of request: SyncHTTPRequest
    ) throws(SyncError) {
        guard status == 200 else {
            throw SyncError(
                .httpStatus, "\(request.method) \(request.url) failed with status code \(status)",
                status: status)
        }
        let type = headers.first { $0.name.lowercased() == "content-type" }?.value ?? "none"
        let media = type.prefix { $0 != ";" && $0 != " " }.lowercased()
        guard media == "application/x-ndjson" else {
            throw SyncError(
                .unexpectedResponse,
                "Invalid sync lines response: expected application/x-ndjson, got \(media)")
        }
    }

    /// Returns the write checkpoint that a response holds.
    static func writeCheckpoint(from response: SyncHTTPResponse) throws(SyncError) -> Int64 {
        guard response.status == 200 else {
            throw SyncError(
                .httpStatus, "Error getting write checkpoint: \(response.status)", status: response.status)
        }
        do {
            let answer = try JSON.parse(response.body)
            let text = answer["data"]?["write_checkpoint"]
            guard let id = text?.stringValue.flatMap({ Int64($0) }) ?? text?.int64Value else {
                throw SyncError(
                    .unexpectedResponse,
                    "Error getting write checkpoint: the answer lacks data.write_checkpoint")
            }
            return id
        } catch let error as SyncError {
            throw error
        } catch {
            throw SyncError(
                .unexpectedResponse, "Error getting write checkpoint: the answer is not JSON", cause: error)
        }
    }

    private func headers(_ credentials: SyncCredentials) -> [SyncHTTPHeader] {
        [
            SyncHTTPHeader("Authorization", "Token \(credentials.token)"),
            SyncHTTPHeader("User-Agent", userAgent),
        ]
    }

    private func url(_ path: String, of credentials: SyncCredentials) -> String {
        var base = Substring(credentials.endpoint)
        while base.last == "/" { base.removeLast() }
        return "\(base)/\(path)"
    }

    /// Percent-encodes everything but the unreserved characters (RFC 3986, 2.3).
    static func encoded(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                result += byte < 16 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return result
    }
}
