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

/// What is answered is on the disk (backend 5.1).
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

    /// What else the answer tells of than a last transaction that commits.
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
