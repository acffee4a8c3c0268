import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

private let generatedValues = TestOptions.number("POWERSYNC_BACKEND_VALUES", standard: 2_000)

/// Generated values of every kind of column, one transaction each: it is applied or recorded as rejected, and what was
/// applied can be read and replicated (backend 7, numbers 10 and 30).
///
/// `POWERSYNC_BACKEND_VALUES` says how many.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient(minutes: 20 + generatedValues / 4_000), .namesSeed)
struct GeneratedValuesTests {
    /// As many as a request may have transactions.
    private static let perRequest = 50

    @Test func eachIsAppliedOrRecorded() async throws {
        try await withBackend { backend, reader in
            let token = try await backend.token()
            var sent = 0
            try await forEachSeed((generatedValues + Self.perRequest - 1) / Self.perRequest) { random in
                let first = random.seed * Self.perRequest
                var generator = ValueGenerator(random)
                let operations = (0..<Self.perRequest).map { Self.put(first + $0, generator.data()) }
                let transactions = operations.map { JSON.object([JSONMember("crud", .array([$0]))]) }
                let body = JSON.object([JSONMember("transactions", .array(transactions))])
                let answer = try await backend.send(
                    "POST", "/api/data", body.text,
                    fields: ["content-type": "application/json", "authorization": "Bearer \(token)"])
                try #require(answer.status == 200, "\(answer.json.text)")
                try await check(answer, first..<first + Self.perRequest, operations, backend)
                try await reader.read(first..<first + Self.perRequest)
                sent += Self.perRequest
            }
            guard sent >= 2_000 else { return }
            // What is never stored proves nothing.
            let counts = ValueGenerator.columns.map { "count(\"\($0.name)\")::text" }.joined(separator: ", ")
            let stored = try #require(try await backend.query("SELECT \(counts) FROM vals").first)
            for (column, count) in zip(ValueGenerator.columns, stored) {
                #expect(count != "0", "\(column.name) \(column.type)")
            }
        }
    }

    /// Numbers of six bytes that print as four hundred, as many as a body holds, and as many as may pass.
    @Test func fullBodiesOfNumbersAreAppliedOrRecorded() async throws {
        func numbers(_ count: Int) -> String {
            Array(repeating: "1e399", count: count).joined(separator: ",")
        }
        // As many as a body may hold in `make nightly`; what would be printed is too long for Postgres either way.
        let all = generatedValues >= 100_000 ? UploadLimits().values - 100 : (2 << 20) / 6
        let cases: [(String, String)] = [
            ("{\"doc\":[\(numbers(all))]}", "TOO_LARGE"), ("{\"amounts\":[\(numbers(all))]}", "TOO_LARGE"),
            ("{\"amounts\":\"{\(numbers(all))}\"}", "TOO_LARGE"),
            ("{\"amounts\":\"{\(numbers(all * 10 / 16))}\"}", "TOO_LARGE"),
            ("{\"doc\":[\(numbers(all / 2))],\"amounts\":[\(numbers(all / 2))]}", "TOO_LARGE"),
            ("{\"doc\":[\(numbers(19_500))],\"amounts\":\"{\(numbers(19_500))}\"}", "TOO_LARGE"),
            ("{\"doc\":[\(numbers(25_000))]}", "applied"), ("{\"doc\":\"[\(numbers(25_000))]\"}", "applied"),
            ("{\"amounts\":[\(numbers(25_000))]}", "applied"),
            ("{\"amounts\":\"{\(numbers(25_000))}\"}", "applied"),
            ("{\"doc\":[\(numbers(19_000))],\"amounts\":\"{\(numbers(19_000))}\"}", "applied"),
        ]
        try await withBackend { backend, reader in
            for (index, (data, expected)) in cases.enumerated() {
                let state = try await backend.apply(
                    "{\"op\":\"PUT\",\"table\":\"vals\",\"id\":\"\(index)\",\"data\":\(data)}")
                #expect(state == expected, "case \(index)")
                let letters = try await backend.query(
                    "SELECT error_code FROM psb.dead_letters WHERE row_id = $1::text", [String(index)])
                #expect(letters == (expected == "applied" ? [] : [[expected]]), "case \(index)")
                try await reader.read(index..<index + 1)
            }
            #expect(try await backend.scalar("SELECT count(*) FROM vals") == "5")
            // The bound is one of what is printed: the largest come near to it.
            let longest = try await backend.scalar("SELECT max(length(doc::text)) FROM vals")
            #expect(longest.flatMap { Int($0) } ?? 0 > 10_000_000)
        }
    }

    private static func put(_ id: Int, _ data: JSON) -> JSON {
        .object([
            JSONMember("op", .string("PUT")), JSONMember("table", .string("vals")),
            JSONMember("id", .string(String(id))),
            JSONMember("data", data),
        ])
    }

    private func check(
        _ answer: TestBackend.Answer, _ ids: Range<Int>, _ operations: [JSON], _ backend: TestBackend
    ) async throws {
        let bounds: [String?] = [String(ids.lowerBound), String(ids.upperBound)]
        let rows = try await backend.query(
            "SELECT id::text FROM vals WHERE id >= $1::int8 AND id < $2::int8", bounds)
        let letters = try await backend.query(
            """
            SELECT id::text, error_code, row_id FROM psb.dead_letters
            WHERE row_id::int8 >= $1::int8 AND row_id::int8 < $2::int8
            """, bounds)
        let stored = Set(rows.map { $0[0] })
        let results = try #require(answer.json["results"]?.arrayValue)
        try #require(results.count == ids.count)
        for (result, (id, operation)) in zip(results, zip(ids, operations)) {
            let status = result["status"]?.stringValue
            let state = result["ops"]?.arrayValue?.first?["status"]?.stringValue
            let sent = String(operation.text.prefix(300))
            if status == "success" {
                #expect(["applied", "adjusted"].contains(state), "\(sent)")
                #expect(stored.contains(String(id)), "\(sent)")
                #expect(!letters.contains { $0[2] == String(id) }, "\(sent)")
            } else {
                #expect(status == "fatal_error", "\(sent)")
                #expect(!stored.contains(String(id)), "\(sent)")
                let code = result["failed_operation"]?["error_code"]?.stringValue
                #expect(
                    letters.contains { $0 == [result["rejection_id"]?.stringValue, code, String(id)] },
                    "\(sent)")
                #expect(
                    ["INVALID_DATA", "NUL_CHARACTER", "TOO_LARGE", "CHECK_VIOLATION", "UNSUPPORTED"].contains(
                        code),
                    "\(code ?? "no code"): \(sent)")
            }
        }
    }

    private func withBackend(_ body: (TestBackend, Reader) async throws -> Void) async throws {
        try await TestCluster.withServer { server in
            let poller = try Poller()
            defer { poller.stop() }
            let uri = try await server.createDatabase("values", poller: poller)
            try await TestBackend.with(
                schema: ValueGenerator.schema, uri: uri, map: ValueGenerator.map,
                {
                    $0.continuesAfterFatalError = true
                    // Each value may be one that is rejected.
                    $0.letters.rows = generatedValues + Self.perRequest
                    $0.letters.bytes = 1 << 50
                }
            ) { backend in
                let reader = try await Reader(uri, poller)
                try await body(backend, reader)
                await reader.close()
            }
        }
    }

    /// Has rows printed as for a dump, and as the walsender prints them.
    private struct Reader {
        let connection: PostgresConnection

        init(_ uri: String, _ poller: Poller) async throws {
            connection = try await PostgresConnection.connect(uri, poller: poller)
            _ = try await connection.query("SELECT pg_create_logical_replication_slot('values', 'pgoutput')")
            try await connection.script(
                "SET statement_timeout = '\(TestOptions.deadline.components.seconds)s'")
        }

        func read(_ ids: Range<Int>) async throws {
            // Printed by the server and not fetched: what its statement waits for is not us.
            let lengths = ValueGenerator.columns.map { "length(\"\($0.name)\"::text)" }.joined(
                separator: ", ")
            let rows = try await connection.query(
                "SELECT \(lengths) FROM vals WHERE id >= $1::int8 AND id < $2::int8",
                [String(ids.lowerBound), String(ids.upperBound)])
            let changes = try await connection.query(
                """
                SELECT count(*) FILTER (WHERE get_byte(data, 0) = ascii('I'))::text FROM
                pg_logical_slot_get_binary_changes('values', NULL, NULL, 'proto_version', '1', 'publication_names', 'powersync')
                """)
            #expect(changes[0, 0] == String(rows.rowCount))
        }

        func close() async { await connection.close() }
    }
}
