/// What an HTTP exchange failed with.
package struct HTTPClientError: Error, Sendable, CustomStringConvertible {
    /// The kind of a failure.
    package struct Code: RawRepresentable, Hashable, Sendable {
        /// The name of the kind.
        package let rawValue: String

        /// Creates a kind.
        package init(rawValue: String) { self.rawValue = rawValue }

        /// No connection came about.
        package static let couldNotConnect = Code(rawValue: "couldNotConnect")
        /// Every address of the host is one that the request must not go to.
        package static let rejectedAddress = Code(rawValue: "rejectedAddress")
        /// The host's name is unknown.
        package static let couldNotResolve = Code(rawValue: "couldNotResolve")
        /// Connecting, the answer or the whole exchange took longer than the request allows.
        package static let timedOut = Code(rawValue: "timedOut")
        /// The connection neither accepted nor brought a byte for as long as the request allows.
        package static let silent = Code(rawValue: "silent")
        /// The connection broke before the answer was complete.
        package static let cut = Code(rawValue: "cut")
        /// The body is larger than the caller accepts.
        package static let tooLarge = Code(rawValue: "tooLarge")
        /// The connection could not be secured.
        package static let tls = Code(rawValue: "tls")
        /// The server's certificate leads to no authority that is trusted.
        package static let untrustedAuthority = Code(rawValue: "untrustedAuthority")
        /// The server does not accept the client's certificate, or that there is none.
        package static let identityRefused = Code(rawValue: "identityRefused")
        /// A proxy does not let the request through.
        package static let proxyRefused = Code(rawValue: "proxyRefused")
        /// A file of certificates, of a key or of a request's body cannot be read, or is shorter than the body is said to be.
        package static let unreadableFile = Code(rawValue: "unreadableFile")
        /// What the client is configured with cannot be used: the address of a proxy, a certificate, a key.
        package static let badConfiguration = Code(rawValue: "badConfiguration")
        /// The address is not one of http or https.
        package static let badURL = Code(rawValue: "badURL")
        /// A method or header field cannot be sent.
        package static let badRequest = Code(rawValue: "badRequest")
        /// The client was closed.
        package static let closed = Code(rawValue: "closed")
        /// Anything else.
        package static let other = Code(rawValue: "other")
    }

    /// The kind of the failure.
    package let code: Code
    /// What happened, for people; holds no header values, passwords or keys.
    package let message: String

    /// Creates an error.
    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The kind and the message.
    package var description: String { "\(code.rawValue): \(message)" }
}
