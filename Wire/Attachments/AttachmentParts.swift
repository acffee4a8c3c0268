/// One part of a file that is uploaded in parts.
package struct AttachmentPart: Sendable, Hashable {
    /// The bytes of every part but the last; a file of as many, or more, goes in parts.
    package static let size: Int64 = 8 << 20
    /// How many parts one request may ask for.
    package static let countPerRequest = 100

    /// The number, from 1.
    package var number: Int
    /// The SHA-256 of the part, 64 lower-case hexadecimal digits.
    package var sha256: String

    /// Makes a part of its fields.
    package init(number: Int, sha256: String) {
        self.number = number
        self.sha256 = sha256
    }
}

/// The question for the URLs of parts: `POST /api/v1/attachments/{id}/parts` (Backend/Attachments/SPEC.md, URLs).
package struct AttachmentPartsRequest: Sendable, Hashable {
    /// The parts, 1 to 100, each number once.
    package var parts: [AttachmentPart]

    /// Makes a question of its parts.
    package init(parts: [AttachmentPart]) { self.parts = parts }

    /// Reads the body of the request.
    ///
    /// - Parameter json: the parsed body.
    /// - Throws: `WireError` with `.invalidField`, naming the place.
    package init(json: JSON) throws(WireError) {
        let parts = try AttachmentFields(json).list("parts") { (json, path) throws(WireError) in
            let fields = try AttachmentFields(json, path)
            return AttachmentPart(
                number: try fields.number("number", in: 1...AttachmentFields.partCount),
                sha256: try fields.digest("sha256"))
        }
        guard (1...AttachmentPart.countPerRequest).contains(parts.count) else {
            throw .field("parts", "1 to \(AttachmentPart.countPerRequest) parts")
        }
        guard Set(parts.map(\.number)).count == parts.count else {
            throw .field("parts", "each number once")
        }
        self.init(parts: parts)
    }

    /// The question as a JSON object.
    package var json: JSON {
        let list = parts.map { part -> JSON in
            .object([
                JSONMember("number", .integer(part.number)), JSONMember("sha256", .string(part.sha256)),
            ])
        }
        return .object([JSONMember("parts", .array(list))])
    }
}

/// The answer to `AttachmentPartsRequest`: where each part goes.
package struct AttachmentPartsTicket: Sendable, Hashable {
    /// Where a part goes.
    package struct Part: Sendable, Hashable {
        /// The number of the part, from 1.
        package var number: Int
        /// The request that brings it.
        package var request: SignedRequest

        /// Makes it of its fields.
        package init(number: Int, request: SignedRequest) {
            self.number = number
            self.request = request
        }
    }

    /// The parts, in the order in which they were asked for.
    package var parts: [Part]

    /// Makes an answer of its parts.
    package init(parts: [Part]) { self.parts = parts }

    /// Reads the answer.
    ///
    /// - Parameter json: the parsed body.
    /// - Throws: `WireError` with `.invalidField`, naming the place.
    package init(json: JSON) throws(WireError) {
        self.init(
            parts: try AttachmentFields(json).list("parts") { (json, path) throws(WireError) in
                let fields = try AttachmentFields(json, path)
                return Part(
                    number: try fields.number("number", in: 1...AttachmentFields.partCount),
                    request: try SignedRequest(uploadIn: json, path))
            })
    }

    /// The answer as a JSON object.
    package var json: JSON {
        let list = parts.map { part -> JSON in
            .object([JSONMember("number", .integer(part.number))] + part.request.uploadMembers)
        }
        return .object([JSONMember("parts", .array(list))])
    }
}
