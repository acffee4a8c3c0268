/// A server that cannot listen, or a client that cannot be written to.
package struct HTTPServerError: Error, CustomStringConvertible {
    /// What is wrong.
    package struct Code: RawRepresentable, Hashable, Sendable {
        /// The name of the code.
        package let rawValue: String

        /// Creates a code with its name.
        package init(rawValue: String) { self.rawValue = rawValue }

        /// Somebody else listens on the port.
        package static let addressInUse = Code(rawValue: "addressInUse")
        /// The host is no address of this machine.
        package static let addressNotAvailable = Code(rawValue: "addressNotAvailable")
        /// The system keeps the port for others, as it does with those below 1024.
        package static let permissionDenied = Code(rawValue: "permissionDenied")
        /// Listening failed for another reason.
        package static let cannotListen = Code(rawValue: "cannotListen")
        /// The client has left.
        package static let peerGone = Code(rawValue: "peerGone")
        /// The client took too few bytes for as long as it may.
        package static let writeTimeout = Code(rawValue: "writeTimeout")
        /// Two tasks wrote to one body at a time, one wrote after its end, or a body has not the bytes that were announced.
        package static let misuse = Code(rawValue: "misuse")
    }

    /// What is wrong.
    package let code: Code
    /// What is wrong and, where the user can do something about it, what.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    package var description: String { message }
}
