import PowerSyncHTTPTestSupport
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

#if os(Linux)
    /// What the ledger tells takes no more memory than the operations that are asked for.
    @Suite(.enabled(if: TestOptions.hasDatabase), .patient())
    struct LedgerMemoryTests {
        private static let count = 4_000

        private static func body(_ client: String) -> String {
            let operations = (1...count).map {
                #"{"op_id":\#($0),"op":"PATCH","table":"lists","id":"a","data":{}}"#
            }
            return
                #"{"v":1,"client_id":"\#(client)","transactions":[{"crud":[\#(operations.joined(separator: ","))]}]}"#
        }

        /// Uploads until it is taken: a process on a busy machine may need more than the ten seconds of a transaction.
        private static func upload(_ name: String, _ client: JSONClient, _ token: String) async throws {
            try await wait(
                for: "the upload to be taken",
                read: { try await client.send("POST", "/api/data", body(name), token: token).status },
                until: { status in
                    if status != 503 { #expect(status == 200) }
                    return status != 503
                })
        }

        /// Copies of one device, five hundred times, or a client that means ill.
        @Test func manyEntriesOfTheSameIdsAreNotReadAtOnce() async throws {
            try await BackendProcess.with(schema: TestBackend.demoTables) { process, uri in
                let client = try JSONClient("http://127.0.0.1:\(process.port)")
                let user = try await client.send("GET", "/api/auth/token?user_id=u1")
                let token = try #require(try user.json["token"]?.stringValue)
                try await Self.upload("other", client, token)
                let poller = try Poller()
                defer { poller.stop() }
                let connection = try await PostgresConnection.connect(uri, poller: poller)
                try await connection.query(
                    """
                    INSERT INTO psb.ledger (user_id, client_id, first_op_id, last_op_id, confirmed_op_id, op_ids,
                            op_hashes, hashing, verdict)
                        SELECT 'u1', 'c', 1, \(Self.count), 0, ids, ids, 2, 1
                        FROM (SELECT array_agg(n::bigint) AS ids FROM generate_series(1, \(Self.count)) n) a,
                            generate_series(1, 500)
                    """)
                await connection.close()
                let before = try process.peak
                try await Self.upload("c", client, token)
                let peak = try process.peak
                #expect(peak - before <= 64 << 20, "\(before >> 20) MiB before, \(peak >> 20) at the most")
            }
        }
    }
#endif
