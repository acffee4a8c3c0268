/// A request that cannot be understood, or whose body cannot be had.
package struct HTTPError: Error, Equatable, CustomStringConvertible {
    /// What is wrong.
    package struct Code: RawRepresentable, Hashable, Sendable {
        /// The name of the code.
        package let rawValue: String

        /// Creates a code with its name.
        package init(rawValue: String) { self.rawValue = rawValue }

        /// The bytes break the rules of RFC 9112.
        package static let malformed = Code(rawValue: "malformed")
        /// The target is longer than allowed.
        package static let targetTooLong = Code(rawValue: "targetTooLong")
        /// The header fields are more or longer than allowed.
        package static let fieldsTooLarge = Code(rawValue: "fieldsTooLarge")
        /// A version other than 1.x.
        package static let versionNotSupported = Code(rawValue: "versionNotSupported")
        /// A method or transfer coding that this server does not have, or a way to read a body that the body has not.
        package static let notImplemented = Code(rawValue: "notImplemented")
        /// An expectation other than 100-continue.
        package static let expectationFailed = Code(rawValue: "expectationFailed")
        /// The body is longer than its reader takes, by announcement or by arrival.
        package static let bodyTooLarge = Code(rawValue: "bodyTooLarge")
        /// The head did not arrive in time.
        package static let headTimeout = Code(rawValue: "headTimeout")
        /// The body did not arrive in time.
        package static let bodyTimeout = Code(rawValue: "bodyTimeout")
        /// The bodies of all requests together are more than the server holds.
        package static let overloaded = Code(rawValue: "overloaded")
        /// The peer left before the end, or the server is stopping.
        package static let cut = Code(rawValue: "cut")
        /// The body was asked for a second time.
        package static let alreadyRead = Code(rawValue: "alreadyRead")
    }

    /// What is wrong.
    package let code: Code
    /// What is wrong, in words that contain nothing of the request.
    package let message: String

    /// Creates an error.
    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The status with which a server answers.
    package var status: Int {
        switch code {
        case .targetTooLong: 414
        case .fieldsTooLarge: 431
        case .versionNotSupported: 505
        case .notImplemented: 501
        case .expectationFailed: 417
        case .bodyTooLarge: 413
        case .headTimeout, .bodyTimeout: 408
        case .alreadyRead: 500
        case .overloaded: 503
        default: 400
        }
    }

    /// The message.
    package var description: String { message }
}
