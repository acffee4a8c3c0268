import PowerSyncPostgres
import PowerSyncWire

/// A dead letter as the database has it, without its operations.
package struct StoredLetter: Sendable, Hashable {
    /// What has become of it.
    package enum State: String, Sendable, CaseIterable {
        /// Nobody has seen to it.
        case open
        /// It was sent again and applied.
        case replayed
        /// It was given up; its operations are gone.
        case discarded
    }

    /// Its id.
    package let id: String
    /// When it was refused, in UTC.
    package let time: String
    /// The token's subject.
    package let user: String
    /// The client's database.
    package let client: String?
    /// The table of the operation that failed, in the client's words.
    package let table: String?
    /// The row of the operation that failed.
    package let row: String?
    /// Why.
    package let code: String
    /// The state that Postgres reported.
    package let sqlstate: String?
    /// The constraint, if one is to blame.
    package let constraint: String?
    /// Why, in one sentence.
    package let message: String
    /// The operation that failed.
    package let failedIndex: Int?
    /// What has become of it.
    package let state: State
    /// How often it was tried, the upload itself included.
    package let attempts: Int
    /// The bytes of its operations, its claims and its message; of letters of older backends those that its operations take in
    /// the database.
    package let bytes: Int
    /// The request in which it came, as logs name it.
    package let requestID: String

    /// What `init` reads, in its order.
    static let columns = """
        id::text, to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), user_id, client_id, table_name,
        row_id, error_code, sqlstate, constraint_name, message, failed_index::text, state, attempts::text,
        coalesce(bytes, pg_catalog.pg_column_size(payload))::text, request_id
        """

    /// Reads a row of `columns`; nil if it is none.
    init?(_ values: [String?]) {
        guard values.count >= 15, let id = values[0], let time = values[1], let user = values[2],
            let code = values[6], let message = values[9],
            let state = values[11].flatMap(State.init(rawValue:)),
            let attempts = values[12].flatMap({ Int($0) }),
            let bytes = values[13].flatMap({ Int($0) }), let requestID = values[14]
        else { return nil }
        self.id = id
        self.time = time
        self.user = user
        client = values[3]
        table = values[4]
        row = values[5]
        self.code = code
        sqlstate = values[7]
        constraint = values[8]
        self.message = message
        failedIndex = values[10].flatMap { Int($0) }
        self.state = state
        self.attempts = attempts
        self.bytes = bytes
        self.requestID = requestID
    }

    /// Names and values for people and programs; what is not there is left out.
    package var fields: [(name: String, value: JSON)] {
        let all: [(String, JSON?)] = [
            ("id", .string(id)), ("time", .string(time)), ("state", .string(state.rawValue)),
            ("user", .string(user)), ("digest", .string(DeadLetterQuota.digest(of: user))),
            ("client_id", client.map(JSON.string)), ("request_id", .string(requestID)),
            ("error_code", .string(code)), ("message", .string(message)),
            ("sqlstate", sqlstate.map(JSON.string)), ("constraint", constraint.map(JSON.string)),
            ("failed_index", failedIndex.map { JSON.integer($0) }), ("table", table.map(JSON.string)),
            ("row_id", row.map(JSON.string)), ("attempts", .integer(attempts)), ("bytes", .integer(bytes)),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }

    /// Reads what a letter holds.
    ///
    /// No number is too long here: none is in an upload (`UploadLimits.numberBytes`).
    ///
    /// - Parameter payload: the operations as they came.
    /// - Returns: an array; null if the letter was discarded.
    /// - Throws: `WireError`.
    static func operations(in payload: String) throws(WireError) -> JSON {
        try JSON.parse(payload, limits: JSONLimits(numberBytes: .max))
    }

    /// The letter as a JSON object.
    package var json: JSON { .object(fields.map { JSONMember($0.name, $0.value) }) }
}
