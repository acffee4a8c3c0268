import PowerSyncHTTP
import PowerSyncSystem

extension Credentials {
    /// Reads what a request shows, and decides nothing.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - settings: which cookie and which field count, and who is a proxy.
    package init(_ request: HTTPRequest, _ settings: AuthenticationSettings) {
        self.init()
        let fields = request.fields
        peer = request.peer
        client = Self.client(request, settings.trustedProxies)
        authorization = Self.shown(fields.values("authorization"))
        if let name = settings.session?.cookie { cookie = Self.shown(Self.cookies(name, fields)) }
        if let name = settings.userHeader {
            userHeader = Self.shown(fields.values(name))
            // Two fields that somebody has made one of.
            if case .one(let user) = userHeader, user.utf8.contains(UInt8(ascii: ",")) {
                userHeader = .several
            }
        }
        isMarked = fields["x-requested-with"] != nil
        let origins = fields.values("origin")
        origin = origins.isEmpty ? nil : origins.joined(separator: ", ")
        site = fields["sec-fetch-site"]
        host = fields["host"]
    }

    /// Whether anything is shown.
    package var showsSomething: Bool {
        [authorization, cookie, userHeader].contains { $0 != .none }
    }

    /// Whether two things are shown where one counts.
    package var areSeveral: Bool {
        [authorization, cookie, userHeader].contains(.several)
    }

    /// Whether the other end of the connection is one of some proxies.
    package func isOf(_ proxies: [IPRange]) -> Bool {
        guard let peer else { return false }
        return Self.isOne(peer, of: proxies)
    }

    /// The token that is shown: that of `Authorization`, else that of the cookie.
    ///
    /// - Returns: the text.
    /// - Throws: `Problem` 401 for what is not `Bearer`, one space and a text without blanks.
    package func token() throws(Problem) -> String {
        guard case .one(let text) = authorization else {
            guard case .one(let text) = cookie else {
                throw .unauthenticated(.malformed, "expected a token")
            }
            return text
        }
        let parts = text.utf8.split(
            separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, Substring(parts[0]).lowercased() == "bearer", !parts[1].isEmpty,
            !parts[1].contains(where: { [UInt8(ascii: " "), UInt8(ascii: "\t")].contains($0) })
        else { throw .unauthenticated(.malformed, "expected Authorization: Bearer and a token") }
        return String(Substring(parts[1]))
    }

    // MARK: Reading

    private static func shown(_ values: [String]) -> Shown {
        switch values.count {
        case 0: .none
        case 1: .one(values[0])
        default: .several
        }
    }

    /// The values of the cookies of a name (RFC 6265 5.4), by bytes.
    private static func cookies(_ name: String, _ fields: HTTPFields) -> [String] {
        fields.values("cookie").flatMap { line in
            line.utf8.split(separator: UInt8(ascii: ";")).compactMap { pair -> String? in
                guard let mark = pair.firstIndex(of: UInt8(ascii: "=")) else { return nil }
                let found = trimmed(pair[..<mark])
                guard found.elementsEqual(name.utf8) else { return nil }
                return String(Substring(trimmed(pair[pair.index(after: mark)...])))
            }
        }
    }

    private static func trimmed(_ bytes: Substring.UTF8View) -> Substring.UTF8View {
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var bytes = bytes
        while let first = bytes.first, isBlank(first) { bytes = bytes.dropFirst() }
        while let last = bytes.last, isBlank(last) { bytes = bytes.dropLast() }
        return bytes
    }

    /// Who stands behind the proxies: of `X-Forwarded-For`, from its end, the first that is none of them.
    ///
    /// Each proxy adds whom it was asked by, some with the port, so that what stands before that may be anybody's text;
    /// what is no address ends the walk.
    private static func client(_ request: HTTPRequest, _ proxies: [IPRange]) -> IPAddress? {
        guard var client = request.peer?.unmapped, isOne(client, of: proxies) else {
            return request.peer?.unmapped
        }
        for text in request.fields.tokens("x-forwarded-for").reversed() {
            // An address of version 6 has brackets only where a port could follow.
            let written = IPAddress(text) ?? HostPolicy.name(text).flatMap { IPAddress($0) }
            guard let address = written?.unmapped else { break }
            client = address
            guard isOne(address, of: proxies) else { break }
        }
        return client
    }

    private static func isOne(_ address: IPAddress, of proxies: [IPRange]) -> Bool {
        let address = address.unmapped
        return proxies.contains { $0.contains(address) }
    }
}
