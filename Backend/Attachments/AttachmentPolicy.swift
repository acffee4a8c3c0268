import PowerSyncWire

/// How much, and what, users may store (backend 10.3).
package struct AttachmentPolicy: Sendable, Hashable {
    /// The most bytes of one file.
    package var fileBytes: Int64 = 5 << 30
    /// The most bytes of all files of a user that are not deleted, and of those that are as long as a URL may still bring them,
    /// or the store has them.
    package var userBytes: Int64 = 10 << 30
    /// The most files of a user that are not deleted, and the most that are and whose ids are kept.
    package var userFiles = 100_000
    /// The media types that are taken, in lower case: `image/png`, or `image/*` for all images; any if there are none.
    package var types: [String] = []

    /// Makes the default policy.
    package init() {}

    /// Whether files of a media type are taken.
    ///
    /// - Parameter contentType: the type with its parameters, which do not count.
    /// - Returns: whether it is one of `types`.
    package func allows(_ contentType: String) -> Bool {
        guard !types.isEmpty else { return true }
        let type = AttachmentPolicy.essence(contentType)
        guard let slash = type.firstIndex(of: "/") else { return false }
        let family = String(type[...slash]) + "*"
        return types.contains { $0 == type || $0 == family || $0 == "*/*" }
    }

    /// Whether a user who has this much may store one more file.
    ///
    /// - Parameters:
    ///   - size: the bytes of the file.
    ///   - usage: what there is.
    /// - Returns: whether it is within the quota.
    package func hasRoom(for size: Int64, beside usage: AttachmentUsage) -> Bool {
        let (bytes, isTooLarge) = usage.bytes.addingReportingOverflow(size)
        return !isTooLarge && bytes <= userBytes && usage.files < userFiles && usage.deleted < userFiles
    }

    /// Whether a text can be one of `types`.
    static func isType(_ text: String) -> Bool {
        if text == "*/*" { return true }
        let family = text.hasSuffix("/*") ? String(text.dropLast()) + "x" : text
        return AttachmentUploadRequest.isMediaType(family) && !family.contains(";")
    }

    /// Returns a media type without its parameters, in lower case.
    static func essence(_ contentType: String) -> String {
        ValueConversion.trimmed(String(contentType.prefix { $0 != ";" })).lowercased()
    }
}

/// What the files of a user take.
package struct AttachmentUsage: Sendable, Hashable {
    /// How many there are that are not deleted.
    package var files: Int
    /// The bytes of these, as they were announced, and of all others that may still come.
    package var bytes: Int64
    /// How many are deleted whose ids are kept.
    package var deleted: Int

    /// Makes a usage.
    package init(files: Int, bytes: Int64, deleted: Int = 0) {
        self.files = files
        self.bytes = bytes
        self.deleted = deleted
    }
}

/// What an operator decides about attachments.
package struct AttachmentConfiguration: Sendable, Hashable {
    /// Where the bytes are.
    package var store: ObjectStoreConfiguration
    /// Where devices reach this backend, for URLs of a store that it serves itself; nil is the port on this machine.
    package var publicURL: String?
    /// How much, and what.
    package var policy = AttachmentPolicy()

    /// Makes a configuration with the default policy.
    package init(store: ObjectStoreConfiguration) { self.store = store }
}
