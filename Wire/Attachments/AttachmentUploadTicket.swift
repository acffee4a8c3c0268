/// The answer to `AttachmentUploadRequest`: where the bytes go, if they are still wanted (backend 10.2).
package struct AttachmentUploadTicket: Sendable, Hashable {
    /// The id of the attachment.
    package var id: String
    /// Whether the bytes are stored already, so that nothing is left to do.
    package var isUploaded: Bool
    /// The request that brings the whole file; nil where it comes in parts, or not at all.
    package var request: SignedRequest?
    /// How the file is cut where it comes in parts.
    package var multipart: AttachmentMultipart?

    /// Makes an answer of its fields.
    package init(
        id: String, isUploaded: Bool = false, request: SignedRequest? = nil,
        multipart: AttachmentMultipart? = nil
    ) {
        self.id = id
        self.isUploaded = isUploaded
        self.request = request
        self.multipart = multipart
    }

    /// Reads the answer.
    ///
    /// - Parameter json: the parsed body.
    /// - Throws: `WireError` with `.invalidField`, also for one that says neither that the bytes are stored nor where
    ///   they go.
    package init(json: JSON) throws(WireError) {
        let fields = try AttachmentFields(json)
        self.init(id: try fields.id("id"))
        if let member = fields.member("alreadyUploaded") {
            guard let value = member.boolValue else { throw .field("alreadyUploaded", "true or false") }
            isUploaded = value
        }
        multipart = try fields.member("multipart").map { (json) throws(WireError) in
            try AttachmentMultipart(json: json, path: "multipart")
        }
        if fields.member("uploadUrl") != nil || (!isUploaded && multipart == nil) {
            request = try SignedRequest(uploadIn: json)
        }
    }

    /// The answer as a JSON object.
    package var json: JSON {
        var members = [JSONMember("id", .string(id))]
        members += request?.uploadMembers ?? []
        members.append(JSONMember("alreadyUploaded", .bool(isUploaded)))
        if let multipart { members.append(JSONMember("multipart", multipart.json)) }
        return .object(members)
    }
}

/// How a file is cut that is uploaded in parts.
package struct AttachmentMultipart: Sendable, Hashable {
    /// The bytes of every part but the last.
    package var partSize: Int64
    /// The number of parts.
    package var partCount: Int
    /// The numbers, from 1, of the parts that are stored already.
    package var uploaded: [Int]

    /// Makes it of its fields.
    package init(partSize: Int64, partCount: Int, uploaded: [Int] = []) {
        self.partSize = partSize
        self.partCount = partCount
        self.uploaded = uploaded
    }

    /// Reads the object.
    ///
    /// - Parameters:
    ///   - json: the object.
    ///   - path: where it stands in the message.
    /// - Throws: `WireError` with `.invalidField`.
    init(json: JSON, path: String) throws(WireError) {
        let fields = try AttachmentFields(json, path)
        let count = try fields.number("partCount", in: 1...AttachmentFields.partCount)
        self.init(
            partSize: try fields.size("partSize", from: 1), partCount: count,
            uploaded: try fields.list("uploaded") { (number, path) throws(WireError) in
                guard let number = number.int64Value.flatMap({ Int(exactly: $0) }), number >= 1,
                    number <= count
                else { throw .field(path, "a number from 1 to \(count)") }
                return number
            })
    }

    /// It as a JSON object.
    var json: JSON {
        .object([
            JSONMember("partSize", .integer(partSize)), JSONMember("partCount", .integer(partCount)),
            JSONMember("uploaded", .array(uploaded.map { .integer($0) })),
        ])
    }
}
