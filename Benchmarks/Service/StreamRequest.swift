import PowerSyncCrypto
import PowerSyncSystem
import PowerSyncWire

/// The request with which a client of the measures opens a sync stream.
struct StreamRequest: Sendable {
    /// Where the service listens on 127.0.0.1.
    let port: Int
    /// The subject of the token.
    var user = "u1"
    /// What the client calls itself.
    var client = "reader"
    /// Whether the lines may come compressed.
    var acceptsGzip = false

    /// Returns the request as it is sent: lines of JSON, from the beginning.
    ///
    /// - Throws: `CryptoError` if no token can be signed.
    func bytes() throws -> [UInt8] {
        let body = JSON.object([
            JSONMember("raw_data", .bool(true)), JSONMember("client_id", .string(client)),
            JSONMember("buckets", .array([])),
        ]).utf8
        let token = try StreamToken.make(user)
        let encoding = acceptsGzip ? "Accept-Encoding: gzip\r\n" : ""
        let head = """
            POST /sync/stream HTTP/1.1\r
            Host: 127.0.0.1\r
            Content-Type: application/json\r
            Accept: application/x-ndjson\r
            \(encoding)Authorization: Token \(token)\r
            Content-Length: \(body.count)\r
            \r

            """
        return Array(head.utf8) + body
    }
}

/// The tokens of the measures, of a key that the configuration of the service has.
enum StreamToken {
    /// The name of the key.
    static let kid = "bench"
    /// Whom the tokens are for.
    static let audience = "bench"
    /// The key as a JSON Web Key spells it.
    static var key: String { Base64URL.encode(secret) }

    private static let secret = Array("a key that nothing is worth here".utf8)
    /// How many seconds a token is good for, longer than any stream of a measure lasts.
    private static let lifetime: Int64 = 6 * 3600

    /// Makes a token.
    ///
    /// - Parameter user: its subject.
    /// - Returns: the compact form.
    /// - Throws: `CryptoError`.
    static func make(_ user: String) throws(CryptoError) -> String {
        let now = WallClock.microseconds() / 1_000_000
        let payload = JSON.object([
            JSONMember("sub", .string(user)), JSONMember("aud", .string(audience)),
            JSONMember("iat", .integer(now)), JSONMember("exp", .integer(now + lifetime)),
        ]).utf8
        return try JSONWebToken.signed(
            payload: payload, with: JSONWebKey(secret: secret, algorithm: .HS256, kid: kid),
            algorithm: .HS256, kid: kid)
    }
}
