/// The slugs of the problems that requests about attachments are answered with (Backend/Attachments/SPEC.md).
package enum AttachmentProblem {
    /// There is no such attachment, or the caller has nothing to do with it; 404.
    package static let unknown = "unknown"
    /// The bytes have not come yet; 404, may pass.
    package static let notUploaded = "not-uploaded"
    /// A row still names the attachment that is to be deleted; 409, may pass.
    package static let stillReferenced = "still-referenced"
    /// The id belongs to other bytes; 409.
    package static let conflict = "conflict"
    /// The upload is said to be complete, and the store does not have it; 409, may pass.
    package static let notStored = "not-stored"
    /// The attachment was deleted, and its id is not used again; 410.
    package static let gone = "gone"
    /// The file is larger than any may be; 413.
    package static let tooLarge = "too-large"
    /// The user has stored as much as one may; 429.
    package static let quota = "quota-exceeded"

    /// Returns the `code` that a problem of that slug has (backend 1.7).
    package static func code(of slug: String) -> String {
        String(
            decoding: slug.utf8.map { byte -> UInt8 in
                switch byte {
                case UInt8(ascii: "-"): UInt8(ascii: "_")
                case UInt8(ascii: "a")...UInt8(ascii: "z"): byte & ~0x20
                default: byte
                }
            }, as: UTF8.self)
    }
}
