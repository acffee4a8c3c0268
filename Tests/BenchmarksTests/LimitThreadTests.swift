import PowerSyncCrypto
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncBenchmarks

@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct LimitThreadTests {
    private static let table = """
        CREATE TABLE items(id text PRIMARY KEY, name text, a text, b text, n int, x double precision)
        """

    /// Makes a database with the table, a connection to it, and a folder.
    private func with(
        _ body: (_ uri: String, _ connection: PostgresConnection, _ path: String) async throws -> Void
    ) async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let folder = try TemporaryDirectory(prefix: "powersync-test-")
        defer { folder.remove() }
        let uri = try await TestPostgres.database(poller)
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        try await connection.script(Self.table)
        try await body(uri, connection, folder.path + "/limit.sqlite")
        await connection.close()
    }

    private func operations(_ path: String) throws -> [String] {
        let connection = try SQLiteConnection(path: path)
        defer { connection.close() }
        return try connection.query(
            "SELECT op_id, object_id, lower(hex(subkey)), checksum, data FROM operation ORDER BY op_id"
        ) { row in (0..<5).map { row.string($0) }.joined(separator: " ") }
    }

    private static func checksum(_ id: String, _ data: String) -> UInt32 {
        Digest.sha256(Array("put.items.\(id).\(data)".utf8)).prefix(4).reversed().reduce(0) {
            $0 << 8 | UInt32($1)
        }
    }

    @Test func storesEachRowWithTheDigestsOfTheService() async throws {
        try await with { uri, connection, path in
            try await connection.query(
                #"INSERT INTO items VALUES ('t1', E'a"b\\c\td\ne', 'é', NULL, 7, 1.5), ('t2', 'N', '', '\N', NULL, -2)"#
            )
            let (rows, time) = try await LimitThread.store(uri, at: path)
            #expect(rows == 2 && time > .zero)
            let data = [
                #"{"id":"t1","name":"a\"b\\c\u0009d\u000ae","a":"é","b":null,"n":7,"x":1.5}"#,
                #"{"id":"t2","name":"N","a":"","b":"\\N","n":null,"x":-2}"#,
            ]
            let stored = try operations(path)
            #expect(stored.count == 2)
            // The subkey is one of service 9.1.
            #expect(
                stored.first
                    == "1 t1 117ab4854b4258a2ab320053a22c3423 \(Self.checksum("t1", data[0])) \(data[0])")
            #expect(stored.last?.hasPrefix("2 t2 ") == true)
            #expect(stored.last?.hasSuffix(" \(Self.checksum("t2", data[1])) \(data[1])") == true)
        }
    }

    @Test func whatGoesWrongIsToldInOneLine() async throws {
        try await with { uri, connection, path in
            try await connection.script("ALTER TABLE items RENAME TO things")
            let failed = await #expect(throws: BenchmarkError.self) {
                try await LimitThread.store(uri, at: path)
            }
            #expect(failed?.description == "COPY: ERROR:  relation \"items\" does not exist")
            // There is no publication. Postgres says so when the first change is sent, and SQLite has no folder before.
            let unplaced = await #expect(throws: BenchmarkError.self) {
                try await LimitThread.forward(uri, at: path + "/no/folder") { _ in
                    try await Task.sleep(for: TestOptions.deadline)
                }
            }
            #expect(unplaced?.description.hasPrefix("SQLite: unable to open database file") == true)
        }
    }

    @Test func forwardsEachTransactionOnceItIsStored() async throws {
        try await with { uri, connection, path in
            try await connection.script("CREATE PUBLICATION powersync FOR ALL TABLES")
            let reader = try LineReader()
            defer { reader.stop() }
            try await LimitThread.forward(uri, at: path) { port in
                let stream = reader.open(StreamRequest(port: port))
                try await wait(for: "the first lines") { stream.progress.complete != nil }
                for id in ["t1", "it's \"t2\""] {
                    stream.expect(id)
                    try await connection.query("INSERT INTO items(id, name, n) VALUES ($1, 'x', 1)", [id])
                    try await wait(
                        for: "the row", read: { (stream.arrival, stream.progress.failure) },
                        until: { $0.0 != nil || $0.1 != nil })
                    #expect(stream.arrival != nil && stream.progress.failure == nil)
                }
                // Of two rows of a transaction each has its operation.
                stream.expect("t4")
                try await connection.query("INSERT INTO items(id) VALUES ('t3'), ('t4')")
                try await wait(for: "the last row") { stream.arrival != nil }
            }
            let stored = try operations(path)
            #expect(stored.count == 4)
            let data = #"{"id":"t1","name":"x","a":null,"b":null,"n":1,"x":null}"#
            #expect(
                stored.first
                    == "1 t1 117ab4854b4258a2ab320053a22c3423 \(Self.checksum("t1", data)) \(data)")
        }
    }

    @Test func endsWithWhatItIsMeasuredFor() async throws {
        try await with { uri, connection, path in
            try await connection.script("CREATE PUBLICATION powersync FOR ALL TABLES")
            // Before a client has come, and with one that waits.
            let value = try await LimitThread.forward(uri, at: path) { _ in 7 }
            #expect(value == 7)
            let reader = try LineReader()
            defer { reader.stop() }
            await #expect(throws: BenchmarkError.self) {
                try await LimitThread.forward(uri, at: path + "2") { port in
                    let stream = reader.open(StreamRequest(port: port))
                    try await wait(for: "the first lines") { stream.progress.complete != nil }
                    throw BenchmarkError("over")
                }
            }
            try await wait(for: "the slots to go with their connections") {
                try await connection.query(
                    "SELECT 1 FROM pg_replication_slots WHERE database = current_database()"
                ).rowCount == 0
            }
        }
    }
}
