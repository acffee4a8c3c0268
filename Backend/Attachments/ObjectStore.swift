import PowerSyncCrypto
import PowerSyncWire

/// Where the bytes of attachments are (backend 10).
///
/// A key is a name that the backend has made, see `ObjectKey`. A URL that is signed is good for one request and until a
/// moment; devices get it and never the credentials. What is stored under a key never becomes other bytes.
package protocol ObjectStore: Sendable {
    /// Allows one PUT of an object where none is stored.
    ///
    /// The size is signed, too; whoever sends the body says it in `content-length`, as every client does by itself.
    ///
    /// - Parameters:
    ///   - key: the object.
    ///   - contentType: the value of `content-type`.
    ///   - size: the bytes of the object.
    ///   - sha256: their 32 bytes of SHA-256.
    ///   - user: who uploads it, for a store that gives each user so many transfers at once.
    ///   - now: seconds since 1970, from which on it is good for `ObjectStoreLifetime.upload`.
    /// - Returns: the request, with the fields that must be sent.
    /// - Throws: `ObjectStoreError` for what cannot be a key.
    func signUpload(
        key: String, contentType: String, size: Int64, sha256: [UInt8], for user: String, at now: Int64
    ) throws -> SignedRequest

    /// Allows to GET an object, also in ranges and several times.
    ///
    /// - Parameters:
    ///   - key: the object.
    ///   - contentType: the `content-type` of the answer.
    ///   - disposition: the `content-disposition` of the answer; none if empty.
    ///   - user: who downloads it.
    ///   - now: seconds since 1970, from which on it is good for `ObjectStoreLifetime.download`.
    /// - Returns: the request.
    /// - Throws: `ObjectStoreError` for what cannot be a key.
    func signDownload(
        key: String, contentType: String, disposition: String, for user: String, at now: Int64
    ) throws -> SignedRequest

    /// Begins an upload in parts.
    ///
    /// - Parameters:
    ///   - key: the object.
    ///   - contentType: the type of the object.
    /// - Returns: what the store calls the upload.
    /// - Throws: `ObjectStoreError`, `CancellationError`.
    func createMultipart(key: String, contentType: String) async throws -> String

    /// Allows one PUT of a part; the last one counts that came under its number.
    ///
    /// - Parameters:
    ///   - key: the object.
    ///   - upload: what the store calls the upload.
    ///   - number: the part, from 1 on.
    ///   - size: its bytes.
    ///   - sha256: their 32 bytes of SHA-256.
    ///   - user: who uploads it, for a store that gives each user so many transfers at once.
    ///   - now: seconds since 1970, from which on it is good for `ObjectStoreLifetime.upload`.
    /// - Returns: the request, with the fields that must be sent.
    /// - Throws: `ObjectStoreError` for what can be neither a key nor a part.
    func signPart(
        key: String, upload: String, number: Int, size: Int64, sha256: [UInt8], for user: String,
        at now: Int64
    ) throws -> SignedRequest

    /// Looks at what is there of an upload.
    ///
    /// A store may still know an upload that is complete.
    ///
    /// - Parameters:
    ///   - key: the object.
    ///   - upload: what the store calls the upload.
    /// - Returns: the parts by their numbers; nil if there is no such upload.
    /// - Throws: `ObjectStoreError`, `CancellationError`.
    func parts(key: String, upload: String) async throws -> [StoredPart]?

    /// Makes an object of parts, where none is stored; the upload and its parts are gone then.
    ///
    /// - Parameters:
    ///   - key: the object.
    ///   - upload: what the store calls the upload.
    ///   - parts: all parts by their numbers, as the store has listed them.
    ///   - sha256: the 32 bytes of SHA-256 of the object, for a store that reads all of it; nil if nobody knows them. Parts that
    ///     are other bytes end the upload.
    /// - Throws: `ObjectStoreError`, with `.conflict` where something is stored or the upload is no longer there: whoever
    ///   looks at the object knows which. A store may take the same call again for done. `CancellationError`.
    func completeMultipart(key: String, upload: String, parts: [StoredPart], sha256: [UInt8]?) async throws

    /// Ends an upload and removes its parts; no such upload counts as done.
    ///
    /// - Parameters:
    ///   - key: the object.
    ///   - upload: what the store calls the upload.
    /// - Throws: `ObjectStoreError`, `CancellationError`.
    func abortMultipart(key: String, upload: String) async throws

    /// Looks at an object.
    ///
    /// - Parameter key: the object.
    /// - Returns: what is known of it; nil if nothing is stored.
    /// - Throws: `ObjectStoreError`, `CancellationError`.
    func head(key: String) async throws -> StoredObject?

    /// Removes an object; nothing there counts as done.
    ///
    /// - Parameter key: the object.
    /// - Throws: `ObjectStoreError`, `CancellationError`.
    func delete(key: String) async throws

    /// Whether the store was given a name, see `StoreBinding`.
    ///
    /// - Parameter name: what could be a key.
    /// - Returns: whether it has the name, beside others that it may have.
    /// - Throws: `ObjectStoreError`, `CancellationError`.
    func isNamed(_ name: String) async throws -> Bool

    /// Gives the store a name, beside those that it has; one that it has counts as done.
    ///
    /// - Parameter name: what could be a key.
    /// - Throws: `ObjectStoreError`, `CancellationError`.
    func takeName(_ name: String) async throws
}

/// A part that a store has.
package struct StoredPart: Sendable, Hashable {
    /// The number, from 1 on.
    package var number: Int
    /// Its bytes.
    package var size: Int64
    /// What the store calls this content of the part; given back to complete the upload.
    package var tag: String
    /// SHA-256 as the store says it, in base64; nil if it does not.
    package var sha256: String?

    /// Makes a part of its facts.
    package init(number: Int, size: Int64, tag: String, sha256: String? = nil) {
        self.number = number
        self.size = size
        self.tag = tag
        self.sha256 = sha256
    }
}

/// An object that a store has.
package struct StoredObject: Sendable, Hashable {
    /// Its bytes.
    package var size: Int64
    /// The 32 bytes of SHA-256; nil if the store does not say them.
    package var sha256: [UInt8]?

    /// Makes an object of its facts.
    package init(size: Int64, sha256: [UInt8]? = nil) {
        self.size = size
        self.sha256 = sha256
    }
}

/// For how many seconds what is signed is good.
package enum ObjectStoreLifetime {
    /// An upload, or a part of one.
    package static let upload: Int64 = 15 * 60
    /// A download.
    package static let download: Int64 = 5 * 60
}

/// Why a store did not do what it was asked for; the message holds no secrets, no keys of objects and no URLs.
package struct ObjectStoreError: Error, Sendable, CustomStringConvertible {
    /// What to do about it.
    package enum Kind: Sendable, Hashable {
        /// The store is away or has too much to do: come again.
        case unavailable
        /// The store does not allow it, or does not know how to: the configuration is wrong, or the request is.
        case refused
        /// Something is stored under the key, or the upload is no longer there.
        case conflict
    }

    /// What to do about it.
    package let kind: Kind
    /// What happened, for an operator.
    package let message: String

    /// Makes an error of its parts.
    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    /// The message.
    package var description: String { message }
}

extension ObjectStore {
    /// The field that says the 32 bytes of SHA-256 of a body.
    static func checksumField(_ sha256: [UInt8]) -> (name: String, value: String) {
        precondition(sha256.count == 32, "SHA-256 has 32 bytes")
        return (name: "x-amz-checksum-sha256", value: Base64.encode(sha256))
    }

    /// The fields that whoever uploads an object must send.
    static func uploadFields(
        _ contentType: String, _ checksum: (name: String, value: String)
    ) -> [(name: String, value: String)] {
        [
            (name: "content-type", value: contentType), checksum,
            (name: "if-none-match", value: "*"),
        ]
    }
}

extension SignedRequest {
    /// Makes a request that is good until a moment.
    ///
    /// - Parameters:
    ///   - method: the method.
    ///   - url: the URL.
    ///   - fields: the header fields that must be sent.
    ///   - expiry: the last second since 1970 in which it is good.
    init(method: String, url: String, fields: [(name: String, value: String)], expiry: Int64) {
        let moment = CalendarTime(secondsSince1970: Int(expiry))
        self.init(
            url: url, method: method, headers: fields.map { Header($0.name, $0.value) },
            expiresAt: "\(moment.date)T\(moment.time)Z")
    }
}
