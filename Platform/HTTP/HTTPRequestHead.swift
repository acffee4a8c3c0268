/// What a parser takes at most.
package struct HTTPLimits: Sendable {
    /// The longest target, in bytes.
    package var targetBytes: Int
    /// The most bytes of all header fields, or all trailer fields, line ends included.
    package var fieldBytes: Int
    /// The most field lines.
    package var fieldCount: Int

    /// Creates limits.
    package init(targetBytes: Int = 8 << 10, fieldBytes: Int = 16 << 10, fieldCount: Int = 100) {
        self.targetBytes = targetBytes
        self.fieldBytes = fieldBytes
        self.fieldCount = fieldCount
    }
}

/// A request without its body, and what its fields say about the body and the connection.
package struct HTTPRequestHead: Sendable {
    /// Where the body ends.
    package enum Framing: Sendable, Equatable {
        /// There is none.
        case none
        /// After this number of bytes, at least one.
        case length(Int)
        /// With the chunk of length 0 and its trailer fields.
        case chunked
    }

    /// The request.
    package let request: HTTPRequest
    /// 0 or 1: the minor version of HTTP/1.
    package let minorVersion: Int
    /// Where the body ends.
    package let framing: Framing
    /// Whether the client wants to use the connection again (RFC 9112 9.3).
    package let keepsAlive: Bool
    /// Whether the client waits for "100 Continue" before it sends the body (RFC 9110 10.1.1).
    package let expectsContinue: Bool

    /// Draws the conclusions from a request's fields.
    ///
    /// - Parameters:
    ///   - request: The request as sent.
    ///   - minorVersion: 0 or 1.
    /// - Throws: When a field breaks a rule that would let two readers see two different requests.
    package init(request: HTTPRequest, minorVersion: Int) throws(HTTPError) {
        self.request = request
        self.minorVersion = minorVersion
        try Self.checkTarget(request)
        try Self.checkHost(request.fields.values("host"), minorVersion: minorVersion)
        framing = try Self.framing(request.fields, minorVersion: minorVersion)
        let options = request.fields.tokens("connection")
        keepsAlive = !options.contains("close") && (minorVersion > 0 || options.contains("keep-alive"))
        expectsContinue = try Self.expectation(request.fields, minorVersion: minorVersion, framing: framing)
    }

    /// RFC 9112 3.2: the four forms of a target.
    private static func checkTarget(_ request: HTTPRequest) throws(HTTPError) {
        if request.method == "CONNECT" { throw HTTPError(.notImplemented, "this server is no proxy") }
        let target = request.target.utf8
        if target.first != UInt8(ascii: "/") {
            let isQuestion = request.target == "*" && request.method == "OPTIONS"
            guard isQuestion || isAbsolute(request.target) else {
                throw HTTPError(.malformed, "the target is neither a path nor an absolute URL")
            }
        }
        guard target.contains(UInt8(ascii: "%")) else { return }
        guard let path = PercentEncoding.decode(request.rawPath), !path.utf8.contains(0) else {
            throw HTTPError(.malformed, "the percent-encoding of the path is broken")
        }
    }

    private static func isAbsolute(_ target: String) -> Bool {
        guard let mark = target.firstRange(of: "://") else { return false }
        let authority = target[mark.upperBound...].prefix { $0 != "/" && $0 != "?" }
        return ["http", "https"].contains(target[..<mark.lowerBound].asciiLowercased)
            && !authority.isEmpty && authority.utf8.allSatisfy(isHostByte)
    }

    /// RFC 9112 3.2: exactly one host, except in HTTP/1.0.
    private static func checkHost(_ hosts: [String], minorVersion: Int) throws(HTTPError) {
        if hosts.count > 1 { throw HTTPError(.malformed, "more than one host field") }
        if hosts.isEmpty, minorVersion > 0 { throw HTTPError(.malformed, "the host field is missing") }
        if let host = hosts.first, !host.utf8.allSatisfy(isHostByte) {
            throw HTTPError(.malformed, "the host field holds what no host can")
        }
    }

    /// RFC 9112 6.3, with everything refused that the section merely lets a server repair.
    private static func framing(_ fields: HTTPFields, minorVersion: Int) throws(HTTPError) -> Framing {
        let lengths = fields.values("content-length")
        let codings = fields.values("transfer-encoding")
        if !codings.isEmpty {
            if !lengths.isEmpty { throw HTTPError(.malformed, "both content-length and transfer-encoding") }
            if minorVersion == 0 { throw HTTPError(.malformed, "HTTP/1.0 has no transfer-encoding") }
            let names = fields.tokens("transfer-encoding")
            if names.last != "chunked" || names.dropLast().contains("chunked") {
                throw HTTPError(.malformed, "transfer-encoding does not end with one chunked")
            }
            if names.count > 1 {
                throw HTTPError(.notImplemented, "the only transfer-encoding here is chunked")
            }
            return .chunked
        }
        if lengths.count > 1 { throw HTTPError(.malformed, "more than one content-length") }
        guard let text = lengths.first else { return .none }
        let isNumber =
            !text.isEmpty && text.utf8.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        guard isNumber, let length = Int(text) else {
            throw HTTPError(.malformed, "content-length is no number of bytes")
        }
        return length == 0 ? .none : .length(length)
    }

    private static func expectation(
        _ fields: HTTPFields, minorVersion: Int, framing: Framing
    ) throws(HTTPError) -> Bool {
        let expectations = fields.tokens("expect")
        if expectations.isEmpty || minorVersion == 0 { return false }
        guard expectations == ["100-continue"] else {
            throw HTTPError(.expectationFailed, "the only expectation known here is 100-continue")
        }
        return framing != .none
    }

    /// Letters, digits and the marks of RFC 3986 3.2.2 and of a port.
    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~%!$&'()*+;=:[]".utf8.contains(byte)
        }
    }
}
