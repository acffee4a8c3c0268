/// A request that its signature alone authorises, for a while (backend 10.2).
package struct SignedRequest: Sendable, Hashable {
    /// A header field that must be sent as it is.
    package struct Header: Sendable, Hashable {
        /// The name.
        package var name: String
        /// The value.
        package var value: String

        /// Makes a field.
        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The whole address, the signature in its query.
    package var url: String
    /// The method, such as `PUT`.
    package var method: String
    /// The header fields that must be sent, in the order in which they are told.
    package var headers: [Header]
    /// Until when it is good, RFC 3339 in UTC.
    package var expiresAt: String

    /// Makes a request of its fields.
    package init(url: String, method: String, headers: [Header] = [], expiresAt: String) {
        self.url = url
        self.method = method
        self.headers = headers
        self.expiresAt = expiresAt
    }

    /// Reads the members of a request that stand among others.
    ///
    /// - Parameters:
    ///   - json: the object that has `uploadUrl`, `method`, `headers` and `expiresAt`.
    ///   - path: where the object stands in the message; empty for the message itself.
    /// - Throws: `WireError` with `.invalidField`.
    init(uploadIn json: JSON, _ path: String = "") throws(WireError) {
        let fields = try AttachmentFields(json, path)
        self.init(
            url: try fields.text("uploadUrl", bytes: 1...AttachmentFields.addressBytes),
            method: try fields.text("method", bytes: 1...16),
            headers: try Self.headers(fields.member("headers"), path.isEmpty ? "headers" : path + "/headers"),
            expiresAt: try fields.text("expiresAt", bytes: 1...64))
    }

    /// The members among others of an object.
    var uploadMembers: [JSONMember] {
        [
            JSONMember("uploadUrl", .string(url)), JSONMember("method", .string(method)),
            JSONMember("headers", .object(headers.map { JSONMember($0.name, .string($0.value)) })),
            JSONMember("expiresAt", .string(expiresAt)),
        ]
    }

    /// The most fields of a request; S3 wants four.
    private static let mostHeaders = 32
    /// The most bytes of a field, its name or its value.
    private static let headerBytes = 4_096

    private static func headers(_ json: JSON?, _ path: String) throws(WireError) -> [Header] {
        guard let json else { return [] }
        guard let members = json.objectMembers, members.count <= mostHeaders else {
            throw .field(path, "an object of at most \(mostHeaders) header fields")
        }
        var headers: [Header] = []
        for member in members {
            guard let value = member.value.stringValue, isFieldName(member.name), isFieldValue(value) else {
                throw .field(path, "header fields that can be sent")
            }
            headers.append(Header(member.name, value))
        }
        return headers
    }

    private static func isFieldName(_ name: String) -> Bool {
        (1...headerBytes).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }
    }

    private static func isFieldValue(_ value: String) -> Bool {
        value.utf8.count <= headerBytes
            && value.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == UInt8(ascii: "\t") }
    }
}
