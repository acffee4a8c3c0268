import PowerSyncPostgres
import PowerSyncWire

/// What a user sees of the dead letters that are of this user (backend 1.4; Backend/Start/SPEC.md).
///
/// Never what they hold, nor by which token they came. That a user has seen one changes no state and makes no room: both are
/// the operator's.
package enum Rejections {
    /// The most of them in an answer.
    static let most = 1_000
    /// How many there are in one unless the caller says it.
    static let standard = 100

    /// The place behind a letter in the order of their coming; the letter itself need not be there any more.
    package struct Cursor: Sendable, Hashable {
        /// When it came, in microseconds since 1970.
        private let microseconds: Int64
        /// Its id, since several may come at once.
        private let id: String

        /// Reads `MICROSECONDS-UUID`; nil for anything else.
        package init?(_ text: String) {
            let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
            // A moment beyond that is none of Postgres.
            guard parts.count == 2, let microseconds = Int64(parts[0]), (0...1 << 57).contains(microseconds),
                Rejections.isID(String(parts[1]))
            else { return nil }
            self.microseconds = microseconds
            id = String(parts[1])
        }

        fileprivate var parameters: [String?] { [String(microseconds), id] }
    }

    /// Whether a text spells an id, which Postgres would refuse otherwise.
    package static func isID(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.count == 36
            && bytes.enumerated().allSatisfy { place, byte in
                if [8, 13, 18, 23].contains(place) { return byte == 0x2D }
                return (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20)
            }
    }

    /// Asks for those of a user behind a place, in the order of their coming.
    static func page(of user: String, after cursor: Cursor?, limit: Int) -> PostgresStatement {
        let place: [String?] = cursor?.parameters ?? [nil, nil]
        return PostgresStatement(
            """
            SELECT id::text, \(time("occurred_at")), client_id, tx_id::text, table_name, row_id, error_code, message, state,
                \(time("acked_at")), (extract(epoch FROM occurred_at) * 1000000)::bigint::text
            FROM psb.dead_letters WHERE user_id = $1::text AND state <> 'discarded' AND ($2::bigint IS NULL
                OR (occurred_at, id) > ('epoch'::timestamptz + $2::bigint * interval '1 microsecond', $3::uuid))
            ORDER BY occurred_at, id LIMIT $4::integer
            """, [user, place[0], place[1], String(limit)])
    }

    private static func time(_ column: String) -> String {
        #"to_char(\#(column) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"#
    }

    /// Notes that a user has seen one; returns its id, and nothing where there is none of this user.
    static func acknowledgement(of id: String, by user: String) -> PostgresStatement {
        PostgresStatement(
            """
            UPDATE psb.dead_letters SET acked_at = coalesce(acked_at, now())
            WHERE id = $1::uuid AND user_id = $2::text
                AND NOT EXISTS (SELECT FROM psb.disabled_users d WHERE d.user_id = $2::text)
            RETURNING id::text
            """, [id, user])
    }

    /// Writes the answer to `page`, which was asked for one more than belongs into it.
    static func json(_ result: PostgresResult, limit: Int) -> JSON {
        let count = min(result.rowCount, limit)
        let last = count > 0 ? result.row(count - 1) : []
        var next: JSON = .null
        if result.rowCount > limit, let microseconds = last.last ?? nil, let id = last.first ?? nil {
            next = .string("\(microseconds)-\(id)")
        }
        return .object([
            JSONMember("rejections", .array((0..<count).map { rejection(result.row($0)) })),
            JSONMember("next", next),
        ])
    }

    private static let names = [
        "id", "occurred_at", "client_id", "tx_id", "table", "row_id", "error_code", "message", "state",
        "acked_at",
    ]

    private static func rejection(_ row: [String?]) -> JSON {
        .object(
            zip(names, row).map { name, value in
                guard let value else { return JSONMember(name, .null) }
                return JSONMember(name, name == "tx_id" ? .number(value) : .string(value))
            })
    }
}
