/// The answer of `GET /api/auth/token` (backend 1.2, 4.4).
package struct TokenResponse: Sendable, Hashable {
    /// The signed token.
    package var token: String
    /// Where the client finds the sync service.
    package var powersyncURL: String
    /// Seconds until the token expires; absent from older backends.
    package var expiresIn: Int?
    /// The time at which it expires, RFC 3339 in UTC.
    package var expiresAt: String?

    /// Makes an answer of its fields.
    package init(token: String, powersyncURL: String, expiresIn: Int? = nil, expiresAt: String? = nil) {
        self.token = token
        self.powersyncURL = powersyncURL
        self.expiresIn = expiresIn
        self.expiresAt = expiresAt
    }

    /// The answer as a JSON object, `endpoint` repeating `powersync_url`.
    package var json: JSON {
        var members = [
            JSONMember("token", .string(token)), JSONMember("powersync_url", .string(powersyncURL)),
            JSONMember("endpoint", .string(powersyncURL)),
        ]
        if let expiresAt { members.append(JSONMember("expires_at", .string(expiresAt))) }
        if let expiresIn { members.append(JSONMember("expires_in", .integer(expiresIn))) }
        return .object(members)
    }

    /// Reads the answer of any of the demo backends or ours.
    ///
    /// - Parameter json: the parsed body.
    /// - Throws: `WireError` with `.invalidField`.
    package init(json: JSON) throws(WireError) {
        guard let token = json["token"]?.stringValue else { throw .field("token", "a text") }
        guard let url = (json["powersync_url"] ?? json["endpoint"])?.stringValue else {
            throw .field("powersync_url", "a text")
        }
        self.init(
            token: token, powersyncURL: url, expiresIn: json["expires_in"]?.int64Value.map { Int($0) },
            expiresAt: json["expires_at"]?.stringValue)
    }
}

/// The answer of `GET /write-checkpoint2.json` (service 1.8).
package struct WriteCheckpointResponse: Sendable, Hashable {
    /// The number that a later checkpoint of this client will carry.
    package var writeCheckpoint: Int64

    /// Makes an answer of its number.
    package init(writeCheckpoint: Int64) { self.writeCheckpoint = writeCheckpoint }

    /// The answer as the service sends it.
    package var json: JSON {
        .object([
            JSONMember("data", .object([JSONMember("write_checkpoint", .string(String(writeCheckpoint)))]))
        ])
    }

    /// Reads the service's answer.
    ///
    /// - Parameter json: the parsed body.
    /// - Throws: `WireError` with `.invalidField`.
    package init(json: JSON) throws(WireError) {
        guard let number = json["data"]?["write_checkpoint"]?.stringValue.flatMap({ Int64($0) }) else {
            throw .field("data.write_checkpoint", "a decimal number as text")
        }
        writeCheckpoint = number
    }
}
