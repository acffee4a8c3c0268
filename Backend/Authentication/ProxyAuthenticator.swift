import PowerSyncSystem
import PowerSyncWire

/// Takes the word of trusted proxies about whom a request is from; that they are these, their address says.
package struct ProxyAuthenticator: Authenticator {
    private let proxies: [IPRange]
    private let roles: RoleSettings

    /// Makes an authenticator.
    ///
    /// - Parameters:
    ///   - proxies: whose word counts.
    ///   - roles: chooses the role of a user.
    init(_ proxies: [IPRange], roles: RoleSettings) {
        self.proxies = proxies
        self.roles = roles
    }

    /// Returns whom a proxy names.
    ///
    /// - Parameter credentials: the connection, and the field.
    /// - Returns: who it is; of him nothing but the name is known.
    /// - Throws: `Problem` 401 for anybody else's word, and for a name that is empty, too long, no UTF-8 or has control
    ///   characters.
    package func principal(_ credentials: Credentials) async throws(Problem) -> Principal {
        guard credentials.isOf(proxies) else {
            throw .unauthenticated(.proxyUntrusted, "only a trusted proxy says whom a request is from")
        }
        guard case .one(let subject) = credentials.userHeader else {
            throw .unauthenticated(.malformed, "the proxy names nobody")
        }
        let claims = JSON.object([JSONMember("sub", .string(subject))])
        // What is no UTF-8 has become U+FFFD: two names would be one.
        let isPrintable = subject.unicodeScalars.allSatisfy {
            $0.properties.generalCategory != .control && $0 != "\u{FFFD}"
        }
        let role = try roles.role(for: claims)
        guard isPrintable,
            let principal = Principal(subject: subject, claims: claims, kind: .proxy, role: role)
        else {
            throw .unauthenticated(
                .malformed,
                "the proxy names no text in UTF-8 of 1 to \(Principal.longestSubject) bytes without controls")
        }
        return principal
    }
}
