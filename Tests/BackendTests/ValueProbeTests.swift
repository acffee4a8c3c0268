import PowerSyncBackend
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Columns of types that only Postgres can read, opened to clients by the map (backend 2.4, 3.1).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ValueProbeTests {
    private static let schema = """
        CREATE FUNCTION broken(x tsquery) RETURNS boolean LANGUAGE plpgsql AS
            $$ DECLARE r boolean; BEGIN EXECUTE 'SELEKT 1' INTO r; RETURN r; END $$;
        CREATE DOMAIN checked AS tsquery CHECK (CASE WHEN VALUE IS NULL THEN true ELSE broken(VALUE) END);
        CREATE TABLE docs (id text PRIMARY KEY, q tsquery, v tsvector, path jsonpath, r regclass, c checked, n int);
        CREATE FUNCTION break() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN EXECUTE 'SELEKT 1'; RETURN NEW; END $$;
        CREATE TRIGGER breaks BEFORE INSERT ON docs FOR EACH ROW WHEN (NEW.n = 1) EXECUTE FUNCTION break();
        """
    private static let map = """
        tables:
          docs:
            columns:
              q: { write: client }
              v: { write: client }
              path: { write: client }
              r: { write: client }
              c: { write: client }
        """

    private static func put(_ id: String, _ data: String) -> String {
        #"{"op":"PUT","table":"docs","id":"\#(id)","data":{\#(data)}}"#
    }

    @Test(arguments: [
        ("q", #""a & & b""#, #""a & b""#), ("v", #""'a""#, #""a""#), ("path", #""$.a[""#, #""$.a""#),
    ])
    func aTextThatTheTypeCannotReadIsRejected(column: String, bad: String, good: String) async throws {
        try await TestBackend.with(schema: Self.schema, map: Self.map) { backend in
            let rows = [
                Self.put("a", "\"\(column)\":\(good)"), Self.put("b", "\"\(column)\":\(bad)"),
                Self.put("c", "\"\(column)\":\(good)"),
            ]
            let answer = try await backend.upload("{\"batch\":[\(rows.joined(separator: ","))]}")
            #expect(answer.status == 200, "\(answer.json.text)")
            #expect(answer.errorCodes == ["INVALID_DATA"])
            #expect(answer.states == ["skipped", "rejected", "skipped"])
            let failed = answer.json["results"]?.arrayValue?.first?["failed_operation"]
            #expect(failed?["details"]?["column"]?.stringValue == column)
            let fine = try await backend.apply(rows[0])
            #expect(fine == "applied")
            #expect(try await backend.scalar("SELECT count(*) FROM docs") == "1")
        }
    }

    @Test func itIsCutOutOfABatchToo() async throws {
        try await TestBackend.with(
            schema: Self.schema, map: Self.map, { $0.isolatesLegacyBatches = true }
        ) { backend in
            let rows = [
                Self.put("a", #""q":"a""#), Self.put("b", #""q":"& b""#), Self.put("c", #""v":"'c""#),
                Self.put("d", #""q":"d""#),
            ]
            let answer = try await backend.upload("{\"batch\":[\(rows.joined(separator: ","))]}")
            #expect(answer.states == ["applied", "rejected", "rejected", "applied"], "\(answer.json.text)")
            #expect(try await backend.query("SELECT id FROM docs ORDER BY id") == [["a"], ["d"]])
        }
    }

    /// The same states where they are somebody else's fault: a trigger's, a domain's, a migration's.
    @Test(arguments: [
        (#""q":"a","n":1"#, 500), (#""c":"a""#, 500), (#""r":"not_there_yet""#, 503),
    ])
    func whatIsNotTheValuesFaultRejectsNothing(data: String, status: Int) async throws {
        try await TestBackend.with(schema: Self.schema, map: Self.map) { backend in
            let answer = try await backend.upload("{\"batch\":[\(Self.put("a", data))]}")
            #expect(answer.status == status, "\(answer.json.text)")
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "0")
        }
    }
}
