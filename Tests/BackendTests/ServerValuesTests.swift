import PowerSyncPostgresTestSupport
import PowerSyncTestSupport
import Testing

/// Columns that the table map lets the server set.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ServerValuesTests {
    private static let schema = """
        CREATE TABLE notes (
            id text PRIMARY KEY, body text, at timestamptz NOT NULL, local timestamp, day date, writer text NOT NULL);
        """
    private static let map = """
        tables:
          notes:
            columns:
              at: { set: now }
              local: { set: now }
              day: { set: now }
              writer: { set: subject }
        """
    /// Of each row whether its times are one, and that of this minute.
    private static let rows = """
        SELECT id, body, writer,
            at BETWEEN now() - interval '1 minute' AND now() AND local = at AT TIME ZONE 'UTC' AND day = local::date
        FROM notes ORDER BY id
        """

    @Test func theyHaveTheTimeOfTheTransactionAndItsUser() async throws {
        try await TestBackend.with(schema: Self.schema, map: Self.map) { backend in
            let one = try await backend.apply(
                #"{"op":"PUT","table":"notes","id":"a","data":{"body":"x","at":"1999-01-01"}}"#, user: "alice"
            )
            #expect(one == "adjusted")
            let many = ["b", "c", "d"].map {
                "{\"op\":\"PUT\",\"table\":\"notes\",\"id\":\"\($0)\",\"data\":{\"body\":\"x\"}}"
            }
            let answer = try await backend.upload(
                "{\"batch\":[\(many.joined(separator: ","))]}", user: "alice")
            #expect(answer.states == ["applied", "applied", "applied"])
            #expect(
                try await backend.query(Self.rows)
                    == ["a", "b", "c", "d"].map { [$0, "x", "alice", "t"] })
            #expect(try await backend.scalar("SELECT count(DISTINCT at) FROM notes WHERE id <> 'a'") == "1")
        }
    }

    @Test func whoeverChangesARowIsNoted() async throws {
        try await TestBackend.with(schema: Self.schema, map: Self.map) { backend in
            _ = try await backend.query(
                "INSERT INTO notes VALUES ('a', 'old', '1999-01-01', '1999-01-01', '1999-01-01', 'alice')")
            let ignored = try await backend.apply(
                #"{"op":"PATCH","table":"notes","id":"a","data":{"at":"2000-01-01"}}"#, user: "bob")
            #expect(ignored == "noop")
            #expect(try await backend.scalar("SELECT writer || day FROM notes") == "alice1999-01-01")
            let changed = try await backend.apply(
                #"{"op":"PATCH","table":"notes","id":"a","data":{"body":"new"}}"#, user: "bob")
            #expect(changed == "applied")
            #expect(try await backend.query(Self.rows) == [["a", "new", "bob", "t"]])
            let put = try await backend.apply(
                #"{"op":"PUT","table":"notes","id":"a","data":{"body":"newer"}}"#, user: "carol")
            #expect(put == "applied")
            #expect(try await backend.query(Self.rows) == [["a", "newer", "carol", "t"]])
        }
    }
}
