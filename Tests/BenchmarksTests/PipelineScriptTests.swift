import PowerSyncTestSupport
import Testing

@testable import PowerSyncBenchmarks

@Suite struct PipelineScriptTests {
    /// What a server of version 15 has logged of two sessions, whose lines stand between one another.
    private static let log = """
        2026-11-26 17:18:31.123 UTC [12] LOG:  database system is ready to accept connections
        2026-11-26 17:18:32.001 UTC [40] LOG:  statement: SELECT 1
        2026-11-26 17:18:32.002 UTC [41] LOG:  execute <unnamed>: BEGIN ISOLATION LEVEL READ COMMITTED
        2026-11-26 17:18:32.003 UTC [40] LOG:  execute <unnamed>: BEGIN
        2026-11-26 17:18:32.004 UTC [41] LOG:  execute psb_3: SELECT psb.open($1::text,
        \t    $2::bigint, $3::bigint, $4::name)
        2026-11-26 17:18:32.004 UTC [41] DETAIL:  parameters: $1 = '{"sub":"it''s = me, $2"}', $2 = '71', $3 = '70', $4 = NULL
        2026-11-26 17:18:32.005 UTC [40] LOG:  execute <unnamed>: COMMIT
        2026-11-26 17:18:32.006 UTC [41] LOG:  execute <unnamed>: INSERT INTO t VALUES ($1::text, $2::text, $3::bigint[], $4)
        2026-11-26 17:18:32.006 UTC [41] DETAIL:  Parameters: $1 = 'row', $2 = 'u', $3 = '{71}', $4 = ''
        2026-11-26 17:18:32.007 UTC [41] ERROR:  none of ours
        2026-11-26 17:18:32.008 UTC [41] LOG:  execute <unnamed>: COMMIT

        """

    @Test func aLogTellsStatementsWithTheirParameters() {
        let statements = ServerLog.statements(of: Self.log)
        #expect(statements.map(\.session) == [40, 41, 40, 41, 40, 41, 41])
        #expect(statements.map(\.text).first == "SELECT 1")
        #expect(statements[3].text == "SELECT psb.open($1::text,\n    $2::bigint, $3::bigint, $4::name)")
        #expect(statements[3].parameters == [#"{"sub":"it's = me, $2"}"#, "71", "70", nil])
        #expect(statements[5].parameters == ["row", "u", "{71}", ""])
        #expect(statements[6] == ServerLog.Statement(session: 41, text: "COMMIT"))
    }

    @Test func aScriptHasTheStatementsOfOneUploadAndNamesAnotherEachTime() throws {
        let script = try PipelineScript(
            ServerLog.statements(of: Self.log), number: 71, rowID: "row", user: "u")
        #expect(
            script.text == #"""
                \set n :n + 1
                \set confirmed :n - 1
                \set id :client_id * 1000000000 + :n
                \startpipeline
                BEGIN ISOLATION LEVEL READ COMMITTED;
                SELECT psb.open(:c0::text,
                    :n::bigint, :confirmed::bigint, NULL::name);
                INSERT INTO t VALUES (:id::text, :client_id::text, ARRAY[:n::bigint]::bigint[], '');
                COMMIT;
                \endpipeline

                """#)
        #expect(script.constants == ["c0": #"{"sub":"it's = me, $2"}"#])
    }

    @Test(arguments: ["SELECT 'a;b'", "SELECT 'HH24:MI'", #"SELECT E'\n'"#])
    func whatPgbenchWouldReadOtherwiseIsRefused(text: String) {
        let statements = ["BEGIN", text, "COMMIT"].map {
            ServerLog.Statement(session: 1, text: $0, parameters: ["row"])
        }
        let error = #expect(throws: BenchmarkError.self) {
            try PipelineScript(statements, number: 71, rowID: "row", user: "u")
        }
        #expect(error?.description == "pgbench would read a statement otherwise: \(text)")
    }

    @Test func anUploadThatIsNotThereIsTold() {
        let error = #expect(throws: BenchmarkError.self) {
            try PipelineScript(
                ServerLog.statements(of: Self.log), number: 71, rowID: "another", user: "u")
        }
        #expect(error?.description == "the log has no transaction with the row another")
    }

    @Test func pgbenchTellsItsRateAndTheTimeOfEachTransaction() {
        let output = """
            number of failed transactions: 0 (0.000%)
            latency average = 7.9 ms
            initial connection time = 50.1 ms
            tps = 4043.25 (without initial connection time)

            """
        #expect(PgbenchRun.rate(output) == 4043.25)
        #expect(PgbenchRun.rate("pgbench: error") == nil)
        let log = "0 1 2500 0 1764177511 120000\n1 1 750 0 1764177511 121000\n"
        #expect(PgbenchRun.times(log) == [0.0025, 0.00075])
    }
}
