import PowerSyncCrypto
import PowerSyncHTTP

/// URLs that prove who allowed them: Signature Version 4 in the query, with the rules of S3.
///
/// The path is signed as it is sent, and the body is not signed (UNSIGNED-PAYLOAD). What comes out is byte for byte
/// what botocore makes (S3SigV4QueryAuth), which a test compares.
package enum S3Signature {
    /// What a URL allows.
    package struct Request: Sendable {
        /// The method.
        package var method: String
        /// `http` or `https`.
        package var scheme: String
        /// The host, an IPv6 address in brackets.
        package var host: String
        /// The port as the URL says it; nil if it does not.
        package var port: Int?
        /// The path from its first slash on, not encoded.
        package var path: String
        /// What the URL asks for, not encoded.
        package var query: [(name: String, value: String)]
        /// The header fields that are signed beside `host`; each name once.
        package var fields: [(name: String, value: String)]

        /// Makes a request of its parts.
        package init(
            method: String, scheme: String, host: String, port: Int? = nil, path: String,
            query: [(name: String, value: String)] = [], fields: [(name: String, value: String)] = []
        ) {
            self.method = method
            self.scheme = scheme
            self.host = host
            self.port = port
            self.path = path
            self.query = query
            self.fields = fields
        }

        /// The value of the field `host`, which lacks the port of the scheme.
        var hostField: String {
            guard let port, port != (scheme == "https" ? 443 : 80) else { return host.lowercased() }
            return "\(host.lowercased()):\(port)"
        }

        /// The path as it is sent: all but letters, digits, `_`, `.`, `-`, `~` and the slash is encoded.
        var encodedPath: String {
            // By bytes: a slash and an accent behind it are one character.
            path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
                .map { PercentEncoding.encode(Substring($0)) }.joined(separator: "/")
        }

        /// Scheme, host and port, as the URL begins.
        var origin: String { "\(scheme)://\(host)" + (port.map { ":\($0)" } ?? "") }
    }

    /// Signs a request.
    ///
    /// - Parameters:
    ///   - request: what the URL allows.
    ///   - seconds: the time of the signature, since 1970.
    ///   - lifetime: for how many seconds it is good, at most a week.
    ///   - region: the region that it is good for.
    ///   - credentials: who signs.
    ///   - service: the service that it is good for.
    /// - Returns: the URL.
    package static func presign(
        _ request: Request, at seconds: Int64, lifetime: Int64, region: String,
        credentials: S3Configuration.Credentials, service: String = "s3"
    ) -> String {
        let moment = CalendarTime(secondsSince1970: Int(seconds))
        let day = moment.date.replacing("-", with: "")
        let time = "\(day)T\(moment.time.replacing(":", with: ""))Z"
        let scope = "\(day)/\(region)/\(service)/aws4_request"
        let fields = canonicalFields(request)
        let names = fields.map(\.name).joined(separator: ";")
        var query = request.query
        query.append((name: "X-Amz-Algorithm", value: "AWS4-HMAC-SHA256"))
        query.append((name: "X-Amz-Credential", value: "\(credentials.accessKey)/\(scope)"))
        query.append((name: "X-Amz-Date", value: time))
        query.append((name: "X-Amz-Expires", value: String(lifetime)))
        query.append((name: "X-Amz-SignedHeaders", value: names))
        if let token = credentials.sessionToken {
            query.append((name: "X-Amz-Security-Token", value: token))
        }
        let pairs = query.map { pair in
            (name: PercentEncoding.encode(pair.name), value: PercentEncoding.encode(pair.value))
        }
        let sorted = pairs.sorted { ($0.name, $0.value) < ($1.name, $1.value) }
        let canonical = [
            request.method, request.encodedPath, text(sorted),
            fields.map { "\($0.name):\($0.value)\n" }.joined(), names, "UNSIGNED-PAYLOAD",
        ].joined(separator: "\n")
        let toSign = [
            "AWS4-HMAC-SHA256", time, scope, Hexadecimal.encode(Digest.sha256(Array(canonical.utf8))),
        ].joined(separator: "\n")
        var key = Array("AWS4\(credentials.secretKey)".utf8)
        for part in [day, region, service, "aws4_request", toSign] {
            key = HMAC.sha256(key: key, message: Array(part.utf8))
        }
        let url = "\(request.origin)\(request.encodedPath)?\(text(pairs))"
        return "\(url)&X-Amz-Signature=\(Hexadecimal.encode(key))"
    }

    private static func text(_ pairs: [(name: String, value: String)]) -> String {
        pairs.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    }

    /// The fields by their names, in lower case, with the blanks within a value made one.
    private static func canonicalFields(_ request: Request) -> [(name: String, value: String)] {
        let fields = request.fields + [(name: "host", value: request.hostField)]
        return fields.map { field in
            (
                name: field.name.lowercased(),
                value: field.value.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            )
        }.sorted { $0.name < $1.name }
    }
}
