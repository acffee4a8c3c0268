import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncWire

/// Asks a development backend for a token.
package enum TokenRequest {
    /// Sends `GET /api/auth/token?user_id=…`.
    ///
    /// - Parameters:
    ///   - backend: the backend's URL.
    ///   - user: the subject that the token shall have.
    ///   - client: sends the request.
    /// - Returns: the answer.
    /// - Throws: `StackError` with `.answer` for another status than 200, `HTTPClientError`, `WireError`.
    package static func send(backend: String, user: String, client: HTTPClient) async throws -> TokenResponse
    {
        var request = HTTPClientRequest(url: backend + "/api/auth/token?user_id=" + escaped(user))
        request.totalTimeout = .seconds(60)
        let answer = try await client.send(request, bodyLimit: 1 << 20)
        guard answer.status == 200 else {
            throw StackError(
                .answer,
                "\(backend)/api/auth/token answered \(answer.status); a backend answers ?user_id= only with "
                    + "DEV_TOKENS=true")
        }
        return try TokenResponse(json: JSON.parse(answer.body, limits: .shortAnswer))
    }

    /// Percent-encodes everything but unreserved characters (RFC 3986, 2.3).
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for byte in text.utf8 {
            let character = Character(Unicode.Scalar(byte))
            if byte < 0x80, character.isLetter || character.isNumber || "-._~".contains(character) {
                escaped.append(character)
            } else {
                escaped += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return escaped
    }
}
