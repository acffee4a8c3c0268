/// Why a key, a token or an operation with a key was refused.
///
/// Neither texts nor codes ever hold key material or parts of a token.
package struct CryptoError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A kind of failure; callers switch on it.
    package struct Code: RawRepresentable, Sendable, Hashable {
        /// The name of the kind.
        package let rawValue: String

        /// Makes a kind of its name.
        package init(rawValue: String) { self.rawValue = rawValue }

        /// The text or the bytes are not what they should be: JSON, base64url, PEM, a compact JWS.
        package static let malformed = Code(rawValue: "malformed")
        /// Well formed, but a key type, a curve or an algorithm that is not supported.
        package static let unsupported = Code(rawValue: "unsupported")
        /// The members of a key do not belong together, or a point is not on its curve.
        package static let inconsistentKey = Code(rawValue: "inconsistentKey")
        /// An RSA key of less than 2,048 bits, or an empty secret (RFC 7518 3.2, 3.3).
        package static let weakKey = Code(rawValue: "weakKey")
        /// The key cannot do this: no private part, or made for another algorithm.
        package static let wrongKey = Code(rawValue: "wrongKey")
        /// libcrypto failed where it should not.
        package static let library = Code(rawValue: "library")
    }

    /// The kind of failure.
    package let code: Code
    /// What happened, for people.
    package let message: String

    /// The message, with libcrypto's own reason where it gave one.
    package var description: String { message }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
