import PowerSyncPostgres
import PowerSyncWire

/// The open letters that came after one and name one of its rows, of whichever user (backend 3.4, Replay).
///
/// Operations that were applied are recorded nowhere by their row.
package struct LaterLetters: Sendable {
    /// How many are read.
    private static let most = 100
    /// How long looking may take.
    private static let timeout = Duration.seconds(20)

    /// The first of them.
    package private(set) var letters: [StoredLetter] = []
    /// Whether there are more.
    package private(set) var isCut = false
    /// How many letters behind it may name one: of backends that did not keep the rows.
    package private(set) var unread = 0
    /// Why nobody could look.
    package private(set) var failure: String?

    /// Whether there is nothing behind the letter that could be undone.
    package var isNone: Bool { letters.isEmpty && unread == 0 && failure == nil }

    /// Looks for them.
    ///
    /// No payload is read, and a search that takes too long ends: whoever fills the table can keep nobody from sending
    /// a letter again.
    ///
    /// - Parameters:
    ///   - id: the letter.
    ///   - rows: its rows, where the letter itself does not have them.
    ///   - connection: outside a transaction; of no more use to others after a failure.
    /// - Throws: `CancellationError`.
    package init(after id: String, naming rows: LetterRows, on connection: PostgresConnection) async throws {
        do {
            try await look(after: id, naming: rows, on: connection)
        } catch let error as PostgresError {
            failure = "\(error)"
        }
    }

    private mutating func look(
        after id: String, naming rows: LetterRows, on connection: PostgresConnection
    ) async throws {
        try await connection.script(
            "BEGIN READ ONLY; SET LOCAL statement_timeout = \(Self.timeout.milliseconds)")
        let found = DeadLetterTable.letters(
            try await connection.query(
                """
                SELECT \(StoredLetter.columns) FROM psb.dead_letters l WHERE l.state = 'open' AND l.id <> $1::uuid
                    AND l.occurred_at >= (SELECT o.occurred_at FROM psb.dead_letters o WHERE o.id = $1::uuid)
                    AND l.row_ids && (SELECT coalesce(o.row_ids, $2::text[]) FROM psb.dead_letters o WHERE o.id = $1::uuid)
                    AND (l.row_tables && (SELECT o.row_tables FROM psb.dead_letters o WHERE o.id = $1::uuid)) IS NOT FALSE
                ORDER BY l.occurred_at, l.id LIMIT \(Self.most + 1)
                """, [id, arrayLiteral(rows.ids)]))
        let count = try await connection.query(
            """
            SELECT count(*)::text FROM psb.dead_letters l WHERE l.state = 'open' AND l.row_ids IS NULL AND l.id <> $1::uuid
                AND l.occurred_at >= (SELECT o.occurred_at FROM psb.dead_letters o WHERE o.id = $1::uuid)
            """, [id])
        try await connection.script("ROLLBACK")
        letters = Array(found.prefix(Self.most))
        isCut = found.count > Self.most
        unread = count.scalar.flatMap { Int($0) } ?? 0
    }

    /// What there is to say, for people; nil if there is nothing.
    var text: String? {
        var parts: [String] = []
        if let failure {
            parts.append(
                "Whether later letters name one of its rows is not known: \(TextTable.shown(failure))")
        }
        if !letters.isEmpty {
            var table = TextTable(["ID", "TIME", "USER", "TABLE", "ROW", "CODE"])
            for letter in letters {
                table.add([
                    String(letter.id.prefix(8)), letter.time, letter.user, letter.table ?? "–",
                    letter.row ?? "–",
                    letter.code,
                ])
            }
            parts.append("These came later and name one of its rows:\n\(table.text)")
        }
        if isCut { parts.append("There are more than these \(letters.count).") }
        if unread > 0 {
            parts.append(
                "\(unread) later letters of an older backend may name one, too: they were not looked at.")
        }
        return parts.isEmpty ? nil : parts.joined(separator: "\n")
    }

    /// The same for programs.
    var members: [JSONMember] {
        [
            JSONMember("later", .array(letters.map(\.json))), JSONMember("later_is_cut", .bool(isCut)),
            JSONMember("later_not_looked_at", .integer(unread)),
        ] + (failure.map { [JSONMember("later_failure", .string($0))] } ?? [])
    }
}
