import PowerSyncHTTP

/// What a request about attachments asks for (backend 10.2).
///
/// The paths begin with `/api/v1/attachments`, or without a version, as the documentation of the client has them.
package enum AttachmentRoute: Sendable, Hashable {
    /// `POST …/upload-url`.
    case uploadURL
    /// `POST …/batch`: several URLs at once, and uploads that are complete.
    case batch
    /// `POST …/{id}/parts`: the URLs of parts.
    case parts(String)
    /// `POST …/{id}/complete`.
    case complete(String)
    /// `GET …/{id}/download-url`.
    case downloadURL(String)
    /// `DELETE …/{id}`.
    case delete(String)

    /// The most bytes of an id.
    static let idBytes = 255

    /// The name in logs, without the id.
    package var name: String {
        switch self {
        case .uploadURL: "upload_url"
        case .batch: "batch"
        case .parts: "parts"
        case .complete: "complete"
        case .downloadURL: "download_url"
        case .delete: "delete"
        }
    }

    /// Finds the route of a request.
    ///
    /// - Parameters:
    ///   - method: the HTTP method.
    ///   - path: the path as sent, in which a slash of an id is encoded.
    /// - Returns: the route; nil if the path is not one of attachments.
    /// - Throws: `Problem` 405, and 400 for an id that is empty, too long or has NUL in it.
    package static func find(method: String, path: Substring) throws(Problem) -> Route? {
        var names: [String] = []
        // By bytes: a slash and an accent behind it are one character.
        for part in path.utf8.split(separator: UInt8(ascii: "/")) {
            guard let name = PercentEncoding.decode(Substring(part)) else { return nil }
            names.append(name)
        }
        for prefix in [["api", "v1", "attachments"], ["api", "attachments"]] where names.starts(with: prefix)
        {
            guard let methods = try methods(Array(names.dropFirst(prefix.count))) else { return nil }
            return try Route.one(of: methods.mapValues { .attachment($0) }, method: method)
        }
        return nil
    }

    private static func methods(_ names: [String]) throws(Problem) -> [String: AttachmentRoute]? {
        switch (names.count, names.last ?? "") {
        case (1, "upload-url"): return ["POST": .uploadURL, "DELETE": .delete(try id(names[0]))]
        case (1, "batch"): return ["POST": .batch, "DELETE": .delete(try id(names[0]))]
        case (1, _): return ["DELETE": .delete(try id(names[0]))]
        case (2, "parts"): return ["POST": .parts(try id(names[0]))]
        case (2, "complete"): return ["POST": .complete(try id(names[0]))]
        case (2, "download-url"): return ["GET": .downloadURL(try id(names[0]))]
        default: return nil
        }
    }

    private static func id(_ name: String) throws(Problem) -> String {
        guard (1...idBytes).contains(name.utf8.count), !name.utf8.contains(0) else {
            throw Problem.invalidRequest("id: expected 1 to \(idBytes) bytes without NUL")
        }
        return name
    }
}
