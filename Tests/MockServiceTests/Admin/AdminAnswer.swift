import PowerSyncHTTPClient
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Answers of the admin routes (service 1.10).
enum AdminAnswer {
    /// Members of which it counts that they are there, and are not empty (Tests/Fixtures/service/README.md).
    private static let changing: Set = [
        "ts", "slot_name", "last_lsn", "last_keepalive_ts", "last_checkpoint_ts", "replication_lag_bytes",
        "wal_status",
    ]

    /// An answer, members in their order, without what is never equal.
    ///
    /// - Parameters:
    ///   - json: The answer.
    ///   - hidesMessages: Whether the texts of messages do not count: those of the real service's own parsers.
    /// - Returns: What is to be equal.
    static func comparable(_ json: JSON, hidesMessages: Bool = false) -> JSON {
        switch json {
        case .array(let elements):
            return .array(elements.map { comparable($0, hidesMessages: hidesMessages) })
        case .object(let members):
            return .object(
                members.map { member in
                    if changing.contains(member.name), member.value != .string("") {
                        return JSONMember(member.name, .string("(some)"))
                    }
                    if hidesMessages, member.name == "message", member.value != .string("") {
                        return JSONMember(member.name, .string("(some)"))
                    }
                    // Port and database are of one run.
                    if member.name == "postgres_uri", let uri = member.value.stringValue,
                        let colon = uri.lastIndex(of: ":")
                    {
                        return JSONMember(member.name, .string(String(uri[..<colon])))
                    }
                    return JSONMember(member.name, comparable(member.value, hidesMessages: hidesMessages))
                })
        default: return json
        }
    }
}

extension TestService {
    /// Asks an admin route.
    func admin(
        _ route: String, _ body: JSON = .object([]), token: String = "admin"
    ) async throws -> HTTPClientResponse {
        try await send("POST", "/api/admin/v1/\(route)", body: body.utf8, token: token)
    }

    /// What an admin route answers to somebody who is let in.
    func administered(_ route: String, _ body: JSON = .object([])) async throws -> JSON {
        let answer = try await admin(route, body)
        try #require(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        return try #require(try JSON.parse(answer.body)["data"])
    }
}
