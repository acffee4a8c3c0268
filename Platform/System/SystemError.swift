#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A call into the operating system that failed.
package struct SystemError: Error, CustomStringConvertible {
    /// What was being done.
    package struct Code: RawRepresentable, Hashable, Sendable {
        /// The name of the code.
        package let rawValue: String

        /// Creates a code with its name.
        package init(rawValue: String) { self.rawValue = rawValue }

        /// A readiness queue could not be made or used.
        package static let poller = Code(rawValue: "poller")
        /// A program could not be started, or its end could not be noticed.
        package static let process = Code(rawValue: "process")
        /// A program did not end in time and was killed.
        package static let timedOut = Code(rawValue: "timedOut")
        /// The task that waited for a program was cancelled, and the program was killed.
        package static let cancelled = Code(rawValue: "cancelled")
        /// A program wrote more than is collected and was killed.
        package static let outputTooLarge = Code(rawValue: "outputTooLarge")
        /// A file or folder could not be made, read or removed.
        package static let file = Code(rawValue: "file")
        /// A socket could not be made, listened on or connected.
        package static let socket = Code(rawValue: "socket")
        /// A host's name could not be looked up.
        package static let nameLookup = Code(rawValue: "nameLookup")
        /// Signals could not be listened to.
        package static let signal = Code(rawValue: "signal")
    }

    /// What was being done.
    package let code: Code
    /// What failed, in words.
    package let message: String
    /// The error number of the system, 0 where it has none.
    package let errno: Int32

    /// Creates an error.
    package init(_ code: Code, _ message: String, errno: Int32 = 0) {
        self.code = code
        self.message = message
        self.errno = errno
    }

    /// The message and the system's own words for the error number.
    package var description: String {
        errno == 0 ? message : "\(message): \(Self.text(of: errno))"
    }

    /// The system's own words alone; the message where it has no error number.
    package var reason: String { errno == 0 ? message : Self.text(of: errno) }

    /// Whether it is about a file, or a folder on the way to it, that is not there.
    package var isMissingFile: Bool { errno == ENOENT }

    /// Returns the system's words for an error number.
    package static func text(of errno: Int32) -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard strerror_r(errno, &buffer, buffer.count) == 0 else { return "error \(errno)" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Throws when a C function of this module returned a negative error number.
    @discardableResult
    static func check(_ result: Int32, _ code: Code, _ message: @autoclosure () -> String) throws(SystemError)
        -> Int32
    {
        guard result < 0 else { return result }
        throw SystemError(code, message(), errno: -result)
    }
}
