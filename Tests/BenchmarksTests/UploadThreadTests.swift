import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncBenchmarks

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite(.patient()) struct UploadThreadTests {
    // MARK: Requests

    private func requests(connections: Int, perConnection: Int, port: Int) -> UploadRequests {
        var requests = UploadRequests(connections: connections, perConnection: perConnection, port: port)
        for connection in 1...connections {
            for number in 1...perConnection {
                let row = UploadRow(values: ["\(connection)-\(number)", "k", nil, "7", "1.5"])
                requests.add([row.operation(on: "items", number: number)], token: "t\(connection)")
            }
        }
        return requests
    }

    @Test func eachConnectionSendsItsOwnRequestsOneAfterTheOther() async throws {
        let heard = Lock<[String: [String]]>([:])
        let server = try RawServer { connection in
            while let request = connection.request() {
                let lines = request.split(separator: "\r\n").map(String.init)
                heard.withLock { heard in
                    heard[lines[2], default: []].append(lines.last ?? "")
                }
                // Heads and bodies are cut anywhere, and the length has any spelling.
                connection.send("HTTP/1.1 200 OK\r\nContent-LENGTH:  ")
                connection.send("4\r\nx: y\r\n\r\nbo")
                connection.send("dy")
            }
        }
        let run = try await UploadThread.send(
            requests(connections: 3, perConnection: 4, port: server.port), warm: 1, to: server.port)
        #expect(server.connections == 3)
        #expect(run.latencies.count == 9 && run.latencies.allSatisfy { $0 > 0 })
        #expect(run.seconds > 0 && run.processor > 0)
        let bodies = heard.withLock { $0 }
        #expect(bodies.keys.sorted() == (1...3).map { "Authorization: Bearer t\($0)" })
        let ids = try bodies["Authorization: Bearer t2"]?.map { text in
            let transaction = try JSON.parse(text)["transactions"]?.arrayValue?.first
            let operation = transaction?["crud"]?.arrayValue?.first
            #expect(operation?["data"]?.text == #"{"a":"k","n":7,"x":1.5}"#)
            return operation?["id"]?.stringValue
        }
        #expect(ids == ["2-1", "2-2", "2-3", "2-4"])
    }

    @Test(arguments: [
        ("HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n", "HTTP/1.1 429 Too Many Requests"),
        ("HTTP/1.1 200 OK\r\n\r\n", "it does not say its length"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nab", "more comes behind it"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n", "the connection was closed"),
    ])
    func anAnswerThatIsNotAsItShouldBeEndsIt(answer: String, reason: String) async throws {
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(answer)
        }
        let error = await #expect(throws: BenchmarkError.self) {
            try await UploadThread.send(
                requests(connections: 1, perConnection: 2, port: server.port), warm: 0, to: server.port)
        }
        #expect(error?.description == "an answer: \(reason)")
    }

    @Test func itEndsWithItsTask() async throws {
        let gate = Gate()
        let server = try RawServer { connection in
            _ = connection.request()
            gate.open()
            connection.waitForHangUp()
        }
        let all = requests(connections: 1, perConnection: 1, port: server.port)
        let task = Task { try await UploadThread.send(all, warm: 0, to: server.port) }
        await gate.pass()
        task.cancel()
        let error = await #expect(throws: BenchmarkError.self) { try await task.value }
        #expect(error?.description == "requests: stopped")
    }

    // MARK: Rows

    /// Makes a database with tables, and a connection to it.
    private func with(
        _ tables: UploadTables, _ body: (_ uri: String, _ connection: PostgresConnection) async throws -> Void
    ) async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let uri = try await TestPostgres.database(poller)
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        try await connection.script(tables.sql)
        try await body(uri, connection)
        await connection.close()
    }

    @Test(
        .enabled(if: TestOptions.hasDatabase), arguments: [UploadThread.Way.arrays, .rows])
    func aProgramInCWritesTheRowsOfEachTable(way: UploadThread.Way) async throws {
        let tables = UploadTables.mixed
        try await with(tables) { uri, connection in
            var rows = UploadRow.rows(of: tables, 20, seed: 1)
            rows[4] = UploadRow(values: [#"a"b\c,{}"#, nil, "NULL", nil, "-2.5"])
            let run = try await UploadThread.write(rows, transactions: 2, to: tables, by: way, in: uri)
            #expect(run.seconds > 0 && run.processor > 0 && run.latencies.isEmpty)
            for (table, name) in tables.names.enumerated() {
                // Each transaction begins with the first table.
                let expected = rows.indices.filter { $0 % 10 % 3 == table }.map { rows[$0] }
                for row in expected {
                    let found = try await connection.query(
                        "SELECT id, a, b, n::text, x::text FROM \(name) WHERE id = $1", [row.id])
                    #expect(found.rowCount == 1)
                    #expect(found.row(0) == row.values)
                }
                let count = try await connection.query("SELECT count(*) FROM \(name)").scalar
                #expect(count == String(expected.count))
            }
        }
    }

    @Test(.enabled(if: TestOptions.hasDatabase), arguments: [UploadThread.Way.arrays, .rows])
    func aRowThatIsRefusedIsToldInOneLine(way: UploadThread.Way) async throws {
        let tables = UploadTables.mixed
        try await with(tables) { uri, connection in
            var rows = UploadRow.rows(of: tables, 6, seed: 1)
            rows[3] = UploadRow(values: ["id", "no kind", nil, nil, nil])
            let error = await #expect(throws: BenchmarkError.self) {
                try await UploadThread.write(rows, transactions: 2, to: tables, by: way, in: uri)
            }
            #expect(
                error?.description
                    == "Postgres: ERROR:  insert or update on table \"lists\" violates foreign key constraint "
                    + "\"lists_a_fkey\"")
            // The transaction before is there, that of the row is not.
            let count = try await connection.query(
                """
                SELECT (SELECT count(*) FROM lists) + (SELECT count(*) FROM todos) + (SELECT count(*) FROM notes)
                """)
            #expect(count.scalar == "3")
        }
    }

    // MARK: Processor time

    @Test func aProcessHasTakenTimeAndOneThatIsNotThereHasNot() async throws {
        let child = try ChildProcess.spawn("/bin/sh", ["-c", "read -r _"], input: .pipe)
        #if os(Linux)
            let time = try #require(ProcessorTime.of(child.id))
            #expect(time > 0 && time < 60)
            let family = try #require(ProcessorTime.ofFamily(child.id))
            #expect(family >= time)
        #endif
        if let input = child.input { close(input) }
        _ = await child.wait()
        #expect(ProcessorTime.of(child.id) == nil)
        #expect(try #require(ProcessorTime.ofEndedChildren()) > 0)
    }
}
