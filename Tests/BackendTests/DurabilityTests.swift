import PowerSyncBackend
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What is answered is on the disk (backend 5.1), although of the transactions of a request the last alone waits for that.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct DurabilityTests {
    /// A transaction that puts a row of `lists`, or of `todos`.
    private func put(_ number: Int, _ table: String = "lists", name: String = "n") -> String {
        let column = table == "lists" ? "name" : "description"
        return
            #"{"tx_id":\#(number),"crud":[{"op_id":\#(number),"op":"PUT","table":"\#(table)","id":"r\#(number)","data":{"\#(column)":"\#(name)"}}]}"#
    }

    private func body(_ transactions: String...) -> String {
        #"{"v":1,"client_id":"c","transactions":[\#(transactions.joined(separator: ","))]}"#
    }

    /// How the transactions have committed since the last look.
    private func settings(_ backend: TestBackend) async throws -> [String?] {
        let rows = try await backend.query("SELECT setting FROM settings ORDER BY n")
        _ = try await backend.query("TRUNCATE settings")
        return rows.map { $0[0] }
    }

    @Test func theLastTransactionAloneWaits() async throws {
        let schema =
            TestBackend.demoTables + """
                CREATE TABLE settings (n int GENERATED ALWAYS AS IDENTITY, setting text);
                CREATE FUNCTION note_setting() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN INSERT INTO settings(setting) VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$;
                CREATE TRIGGER notes AFTER INSERT ON lists FOR EACH ROW EXECUTE FUNCTION note_setting();
                """
        let empty = #"{"tx_id":7,"crud":[]}"#
        try await TestBackend.with(schema: schema) { backend in
            let three = try await backend.upload(body(put(1), put(2), put(3)))
            #expect(three.results == ["success", "success", "success"])
            let ofThree = try await settings(backend)
            #expect(ofThree == ["off", "off", "on"])
            let one = try await backend.upload(body(put(4)))
            #expect(one.results == ["success"])
            let ofOne = try await settings(backend)
            #expect(ofOne == ["on"])
            let before = try await backend.upload(body(put(5), put(6), empty))
            #expect(before.results == ["success", "success", "success"])
            let ofBoth = try await settings(backend)
            #expect(ofBoth == ["off", "on"])
        }
    }

    /// What the answer stands on but the COMMIT of a last transaction.
    enum Ending: CaseIterable {
        /// Nothing.
        case committed
        /// The last one had been committed before.
        case replayed
        /// A rejection ends the request.
        case rejected
        /// The next one is to come again.
        case cameLater
        /// Another request, whose last one has not ended yet, has committed it.
        case ofAnother
    }

    @Test(.enabled(if: PostgresServer.canStandStill), arguments: Ending.allCases)
    func whatIsAnsweredSurvivesTheServer(_ ending: Ending) async throws {
        try await TestCluster.withServer { server in
            try await TestBackend.with(
                uri: server.uri(),
                {
                    if ending == .cameLater { $0.lockTimeout = .milliseconds(100) }
                    $0.retries.budget = .zero
                }
            ) { backend in
                if ending == .replayed { _ = try await backend.upload(body(put(2))) }
                let holder = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
                // Nobody but a COMMIT that waits writes the log to the disk.
                let writers = try await backend.query(
                    """
                    SELECT pid FROM pg_stat_activity
                    WHERE backend_type IN ('walwriter', 'background writer', 'checkpointer')
                    """
                ).compactMap { $0[0].flatMap { Int32($0) } }
                #expect(writers.count == 3)
                for id in writers { kill(id, SIGSTOP) }
                defer { for id in writers { kill(id, SIGKILL) } }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    switch ending {
                    case .committed:
                        let answer = try await backend.upload(body(put(1), put(2)))
                        #expect(answer.results == ["success", "success"])
                    case .replayed:
                        let answer = try await backend.upload(body(put(1), put(2)))
                        #expect(answer.results == ["success", "success"])
                        #expect(answer.states == ["applied", "replayed"])
                    case .rejected:
                        let answer = try await backend.upload(body(put(1), put(2, name: "bad"), put(3)))
                        #expect(answer.results == ["success", "fatal_error", "not_attempted"])
                    case .cameLater:
                        try await holder.script("BEGIN; LOCK TABLE todos IN EXCLUSIVE MODE")
                        let answer = try await backend.upload(body(put(1), put(2, "todos"), put(3)))
                        #expect(answer.results == ["success", "retryable_error", "not_attempted"])
                    case .ofAnother:
                        // Its second transaction waits, and has no claim on the ledger yet; the server dies under it.
                        try await holder.script("BEGIN; LOCK TABLE todos IN EXCLUSIVE MODE")
                        group.addTask { _ = try await backend.upload(body(put(1), put(9, "todos"))) }
                        try await backend.waitForLocked(1, in: "LOCK TABLE")
                        let answer = try await backend.upload(body(put(1)))
                        #expect(answer.results == ["success"])
                        #expect(answer.states == ["replayed"])
                    }
                    server.kill()
                    for id in writers { kill(id, SIGKILL) }
                    try await group.waitForAll()
                }
                await holder.close()
                try await server.restart()
                #expect(try await backend.scalar("SELECT id FROM lists WHERE id = 'r1'") == "r1")
                #expect(try await backend.scalar("SELECT count(*) FROM psb.ledger") != "0")
            }
        }
    }
}
