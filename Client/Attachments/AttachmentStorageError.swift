#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a transfer between this device and the storage of attachments failed with.
///
/// ``SignedURLStorage`` throws it. An adapter of your own may throw it, too: an ``AttachmentQueue`` treats
/// ``Code/unknown``, ``Code/notUploaded`` and ``Code/stillReferenced`` as states that pass, and asks its error handler
/// about everything else.
///
/// No text of it holds a signature, a token or the query of an address.
public struct AttachmentStorageError: Error, LocalizedError, Sendable, Hashable {
    /// The kind of a failure; the set is open, so a `switch` needs a `default`.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name of the code.
        public let rawValue: String

        /// Creates a code of a name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name of the code.
        public var description: String { rawValue }

        // MARK: States that may pass

        /// The backend knows no such attachment, or none that this user has to do with.
        ///
        /// The row that names it may still be in the upload queue of the database. An ``AttachmentQueue`` waits for that
        /// queue to be empty, and then tries again; with an empty queue the answer counts, and a delete is done.
        public static let unknown = Code(rawValue: "unknown")
        /// The user may have the file, but its bytes have not come to the storage yet.
        public static let notUploaded = Code(rawValue: "notUploaded")
        /// The file is not deleted because a row still names it.
        public static let stillReferenced = Code(rawValue: "stillReferenced")

        // MARK: What is wrong

        /// The storage does not accept the signed URL, nor a new one: it is late, or a clock is wrong.
        public static let expired = Code(rawValue: "expired")
        /// The backend or the storage refuses the request, or the backend names a storage that is not to be trusted.
        public static let refused = Code(rawValue: "refused")
        /// The file is larger than the backend allows.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// The user has stored as much as the backend allows.
        public static let quotaExceeded = Code(rawValue: "quotaExceeded")
        /// The id belongs to a file with other bytes.
        public static let conflict = Code(rawValue: "conflict")
        /// The attachment was deleted, and its id is not used again.
        public static let gone = Code(rawValue: "gone")
        /// The bytes are not those that were announced: their number or their SHA-256 differ.
        public static let damaged = Code(rawValue: "damaged")
        /// There was no answer: no connection, or it broke or said nothing.
        public static let network = Code(rawValue: "network")
        /// The backend or the storage cannot answer now, or not in a way that this client understands.
        public static let storage = Code(rawValue: "storage")
        /// A file of this device cannot be read or written; the disk may be full.
        public static let disk = Code(rawValue: "disk")
        /// Nobody is signed in.
        public static let missingCredentials = Code(rawValue: "missingCredentials")
    }

    /// The kind of the failure.
    public let code: Code
    /// What happened, in one sentence.
    public let message: String
    /// The status of the answer, if one made the error.
    public let status: Int?

    /// Makes an error, for an adapter of your own.
    ///
    /// - Parameters:
    ///   - code: the kind of the failure.
    ///   - message: what happened, without signatures and tokens.
    ///   - status: the status of the answer, if one made the error.
    public init(_ code: Code, _ message: String, status: Int? = nil) {
        self.code = code
        self.message = message
        self.status = status
    }

    /// What happened, in one sentence.
    public var errorDescription: String? { message }
}

extension AttachmentStorageError: CustomStringConvertible {
    /// What happened, in one sentence.
    public var description: String { message }
}
