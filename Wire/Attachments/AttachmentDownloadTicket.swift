/// The answer of `GET /api/v1/attachments/{id}/download-url` (backend 10.2).
package struct AttachmentDownloadTicket: Sendable, Hashable {
    /// The whole address of the bytes, the signature in its query; asked for with GET and no field that is signed.
    package var url: String
    /// Until when the address is good, RFC 3339 in UTC.
    package var expiresAt: String
    /// The bytes of the file.
    package var size: Int64
    /// The media type that it was uploaded with.
    package var contentType: String
    /// The SHA-256 of the file, 64 lower-case hexadecimal digits.
    package var sha256: String

    /// Makes an answer of its fields.
    package init(url: String, expiresAt: String, size: Int64, contentType: String, sha256: String) {
        self.url = url
        self.expiresAt = expiresAt
        self.size = size
        self.contentType = contentType
        self.sha256 = sha256
    }

    /// Reads the answer.
    ///
    /// - Parameter json: the parsed body.
    /// - Throws: `WireError` with `.invalidField`, naming the place.
    package init(json: JSON) throws(WireError) {
        let fields = try AttachmentFields(json)
        self.init(
            url: try fields.text("downloadUrl", bytes: 1...AttachmentFields.addressBytes),
            expiresAt: try fields.text("expiresAt", bytes: 1...64), size: try fields.size("size"),
            contentType: try fields.mediaType("contentType"), sha256: try fields.digest("sha256"))
    }

    /// The answer as a JSON object.
    package var json: JSON {
        .object([
            JSONMember("downloadUrl", .string(url)), JSONMember("expiresAt", .string(expiresAt)),
            JSONMember("size", .integer(size)), JSONMember("contentType", .string(contentType)),
            JSONMember("sha256", .string(sha256)),
        ])
    }
}
