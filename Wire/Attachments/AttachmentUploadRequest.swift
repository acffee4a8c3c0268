/// The question for the URL of an upload: `POST /api/v1/attachments/upload-url` (backend 10.2).
package struct AttachmentUploadRequest: Sendable, Hashable {
    /// The id of the attachment, 1 to 255 bytes without NUL.
    package var id: String
    /// What the user calls the file, at most 1,024 bytes; never a path.
    package var filename: String
    /// The media type, with or without parameters, at most 127 bytes.
    package var contentType: String
    /// The bytes of the file.
    package var size: Int64
    /// The SHA-256 of the file, 64 lower-case hexadecimal digits.
    package var sha256: String
    /// The table of the row that names the attachment, as the client calls it; nil leaves it to the backend to find it.
    package var table: String?
    /// The id of that row.
    package var rowID: String?

    /// Makes a question of its fields.
    package init(
        id: String, filename: String, contentType: String, size: Int64, sha256: String, table: String? = nil,
        rowID: String? = nil
    ) {
        self.id = id
        self.filename = filename
        self.contentType = contentType
        self.size = size
        self.sha256 = sha256
        self.table = table
        self.rowID = rowID
    }

    /// Reads the body of the request.
    ///
    /// - Parameter json: the parsed body.
    /// - Throws: `WireError` with `.invalidField`, naming the place.
    package init(json: JSON) throws(WireError) {
        let fields = try AttachmentFields(json)
        self.init(
            id: try fields.id("id"),
            filename: try fields.text("filename", bytes: 0...AttachmentFields.filenameBytes),
            contentType: try fields.mediaType("contentType"), size: try fields.size("size"),
            sha256: try fields.digest("sha256"),
            table: try fields.optionalText("table", bytes: 1...AttachmentFields.idBytes),
            rowID: try fields.optionalText("rowId", bytes: 1...AttachmentFields.idBytes))
    }

    /// The question as a JSON object.
    package var json: JSON {
        var members = [
            JSONMember("id", .string(id)), JSONMember("filename", .string(filename)),
            JSONMember("contentType", .string(contentType)), JSONMember("size", .integer(size)),
            JSONMember("sha256", .string(sha256)),
        ]
        if let table { members.append(JSONMember("table", .string(table))) }
        if let rowID { members.append(JSONMember("rowId", .string(rowID))) }
        return .object(members)
    }

    /// Whether a text may be the media type of an attachment.
    package static func isMediaType(_ text: String) -> Bool { AttachmentFields.isMediaType(text) }
}
