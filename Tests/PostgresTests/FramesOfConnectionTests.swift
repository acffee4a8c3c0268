import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncPostgresValues
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct FramesOfConnectionTests {
    let poller: Poller

    init() throws {
        poller = try Poller()
    }

    @Test(.enabled(if: TestOptions.hasDatabase)) func rowsOfACopyComeManyInOneBuffer() async throws {
        let connection = try await TestPostgres.connection(poller)
        let expected = (1...20_001).map { "\($0)\t\($0 % 2 == 0 ? "\\N" : "a\\tb")\n" }
        let read = Lock((rows: [String](), counts: [Int](), sizes: [Int]()))
        try await connection.copyOutFrames(
            """
            COPY (SELECT i, CASE WHEN i % 2 = 1 THEN E'a\\tb' END FROM generate_series(1, 20001) i) TO STDOUT
            """, limits: PostgresFrames.Limits(bytes: 1_000, count: 70)
        ) { frames in
            let (bytes, ends) = frames.take()
            read.withLock { read in
                read.counts.append(ends.count)
                read.sizes.append(bytes.count)
                var start = 0
                for end in ends {
                    read.rows.append(String(decoding: bytes[start..<end], as: UTF8.self))
                    start = end
                }
            }
        }
        let (rows, counts, sizes) = read.withLock { $0 }
        #expect(rows == expected)
        // One row may lie behind the limit of bytes.
        let longest = try #require(expected.map(\.utf8.count).max())
        #expect(counts.allSatisfy { $0 > 0 && $0 <= 70 })
        #expect(sizes.allSatisfy { $0 < 1_000 + longest })
        #expect(counts.count < expected.count / 10, "many rows come in one buffer")
        #expect(try await connection.query("SELECT 1").scalar == "1")
        await connection.close()
    }

    @Test(.enabled(if: TestOptions.hasDatabase)) func aRowBeyondTheLimitComesWhole() async throws {
        let connection = try await TestPostgres.connection(poller)
        let sizes = Lock([Int]())
        try await connection.copyOutFrames(
            "COPY (SELECT repeat('x', n) FROM unnest(ARRAY[1, 3000000, 2]) n) TO STDOUT",
            limits: PostgresFrames.Limits(bytes: 1_000)
        ) { frames in
            // What is left in the buffer is dropped, and does not come again.
            sizes.withLock { sizes in sizes += (0..<frames.count).map { frames[$0].count } }
        }
        #expect(sizes.withLock { $0 } == [2, 3_000_001, 3])
        await connection.close()
    }

    @Test(.enabled(if: TestOptions.hasDatabase))
    func aCopyThatNobodyWantsLeavesTheConnectionUsable() async throws {
        struct Enough: Error {}
        let connection = try await TestPostgres.connection(poller)
        await #expect(throws: Enough.self) {
            try await connection.copyOutFrames("COPY (SELECT generate_series(1, 10000000)) TO STDOUT") { _ in
                throw Enough()
            }
        }
        #expect(try await connection.query("SELECT 1").scalar == "1")
        let rows = Lock(0)
        let failed = await #expect(throws: PostgresError.self) {
            try await connection.copyOutFrames(
                "COPY (SELECT 1 / (3 - i) FROM generate_series(1, 5) i) TO STDOUT"
            ) { frames in
                rows.withLock { $0 += frames.count }
            }
        }
        #expect(failed?.sqlstate == "22012")
        #expect(rows.withLock { $0 } <= 2)
        let missing = await #expect(throws: PostgresError.self) {
            try await connection.copyOutFrames("COPY missing TO STDOUT") { _ in }
        }
        #expect(missing?.sqlstate == "42P01")
        let other = await #expect(throws: PostgresError.self) {
            try await connection.copyOutFrames("SELECT 1") { _ in }
        }
        #expect(other?.code == .invalidInput)
        #expect(try await connection.query("SELECT 1").scalar == "1")
        await connection.close()
    }

    /// The same changes, read in both ways.
    @Test(.enabled(if: TestOptions.hasDatabase)) func messagesOfAStreamComeManyInOneBuffer() async throws {
        let uri = try await TestPostgres.database(poller)
        let sql = try await PostgresConnection.connect(uri, poller: poller)
        try await sql.script(
            """
            CREATE TABLE lists (id int PRIMARY KEY, name text, big text);
            ALTER TABLE lists ALTER COLUMN big SET STORAGE EXTERNAL;
            CREATE TABLE whole (a int, b text);
            ALTER TABLE whole REPLICA IDENTITY FULL;
            CREATE PUBLICATION powersync FOR ALL TABLES
            """)
        let name = "frames_\(await sql.backendProcessID)"
        let streams = [
            try await replicate(uri, slot: name + "_a"), try await replicate(uri, slot: name + "_b"),
        ]
        try await sql.script(
            """
            BEGIN;
            INSERT INTO lists SELECT i, 'é' || i, CASE WHEN i % 100 = 0 THEN repeat('b', 5000) END
                FROM generate_series(1, 2000) i;
            UPDATE lists SET name = NULL WHERE id % 100 = 0;
            UPDATE lists SET id = -id WHERE id % 200 = 0;
            DELETE FROM lists WHERE id % 500 = 1;
            INSERT INTO whole VALUES (1, 'x'); UPDATE whole SET b = 'y'; DELETE FROM whole;
            TRUNCATE whole;
            COMMIT;
            SELECT pg_logical_emit_message(false, 'powersync', 'ping')
            """)

        var expected: [PgOutputMessage] = []
        while !expected.isAtEnd {
            let message = try await streams[0].nextReplicationMessage(until: .now + TestOptions.deadline)
            guard case .xlog(_, _, let payload) = try #require(message) else { continue }
            expected.append(try PgOutputMessage.decode(payload))
        }
        var messages: [PgOutputMessage] = []
        var counts: [Int] = []
        let limits = PostgresFrames.Limits(bytes: 100_000, count: 300)
        while !messages.isAtEnd {
            let next = try await streams[1].nextReplicationFrames(
                until: .now + TestOptions.deadline, limits: limits)
            let frames = try #require(next)
            counts.append(frames.count)
            #expect(!frames.isEmpty && frames.count <= 300)
            for index in 0..<frames.count {
                let frame = try ReplicationFrame.read(frames.bytes, in: frames[index])
                guard case .xlog(_, _, let payload) = frame else { continue }
                let message = try PgOutputMessage.decode(frames.bytes, in: payload)
                var cells: [PostgresCell] = []
                if let change = try PgOutputRowChange.read(frames.bytes, in: payload, cells: &cells) {
                    #expect(change.message(cells, frames.bytes) == message)
                }
                messages.append(message)
            }
        }
        #expect(messages == expected)
        #expect(messages.count > 2_000)
        #expect(counts.count < messages.count, "many messages come in one buffer")
        for stream in streams { await stream.close() }
        await sql.close()
    }

    @Test func whatCameBeforeTheEndOfTheStreamIsReadFirst() async throws {
        let server = try RawServer { connection in
            Self.beginStream(connection)
            connection.send(Self.keepalive(1) + Self.keepalive(2) + Self.keepalive(3) + Self.end)
            connection.waitForHangUp()
        }
        let connection = try await streaming(from: server)
        var pieces: [UInt8] = []
        while pieces.count < 3 {
            let next = try await connection.nextReplicationFrames(until: .now + TestOptions.deadline)
            let frames = try #require(next)
            pieces += (0..<frames.count).map { frames.bytes[frames[$0].upperBound - 1] }
        }
        #expect(pieces == [1, 2, 3])
        let end = await #expect(throws: PostgresError.self) {
            try await connection.nextReplicationFrames(until: .now + TestOptions.deadline)
        }
        #expect(end?.sqlstate == "57P01")
        let later = await #expect(throws: PostgresError.self) { try await connection.nextReplicationFrames() }
        #expect(later?.code == .closed)
    }

    /// The end that one way of reading has met is told by the other one, too.
    @Test func theEndIsToldHoweverTheStreamIsRead() async throws {
        let server = try RawServer { connection in
            Self.beginStream(connection)
            connection.send(Self.keepalive(1) + Self.end)
            connection.waitForHangUp()
        }
        let connection = try await streaming(from: server)
        let frames = try await connection.nextReplicationFrames(until: .now + TestOptions.deadline)
        #expect(frames?.count == 1)
        let end = await #expect(throws: PostgresError.self) {
            try await connection.nextReplicationMessage(until: .now + TestOptions.deadline)
        }
        #expect(end?.sqlstate == "57P01")
    }

    @Test func waitingHasADeadlineAndCanBeCancelled() async throws {
        let gate = BlockingGate()
        defer { gate.open() }
        let server = try RawServer { connection in
            Self.beginStream(connection)
            gate.wait()
            connection.send(Self.keepalive(0))
            connection.waitForHangUp()
        }
        let connection = try await streaming(from: server)
        #expect(try await connection.nextReplicationFrames(until: .now) == nil)
        let waiting = Task {
            while true {
                do {
                    return try await connection.nextReplicationFrames()
                } catch let error as PostgresError where error.code == .busy {
                    // It met the other reader below.
                    await Task.yield()
                }
            }
        }
        try await wait(
            for: "the task to wait in the stream",
            read: { await refusal { _ = try await connection.nextReplicationFrames(until: .now) } },
            until: { $0 == .busy })
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: waiting) }
        gate.open()
        let frames = try await connection.nextReplicationFrames(until: .now + TestOptions.deadline)
        #expect(frames?.count == 1, "a wait that was cancelled takes nothing")
        await connection.close()
    }

    private func replicate(_ uri: String, slot: String) async throws -> PostgresConnection {
        let connection = try await PostgresConnection.connect(
            uri, parameters: ["replication": "database"], poller: poller)
        _ = try await connection.createReplicationSlot(slot, isTemporary: true)
        try await connection.startReplication(
            slot: slot, publication: "powersync", from: .zero, messages: true)
        return connection
    }

    private func streaming(from server: RawServer) async throws -> PostgresConnection {
        let connection = try await PostgresConnection.connect(
            "postgres://user@127.0.0.1:\(server.port)/x?sslmode=disable&gssencmode=disable", poller: poller)
        try await connection.copyBoth("START")
        return connection
    }

    /// Answers whoever connects and begins a stream: AuthenticationOk and ReadyForQuery, then CopyBothResponse.
    private static func beginStream(_ connection: RawConnection) {
        for answer: [UInt8] in [
            [0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5A, 0, 0, 0, 5, 0x49], [0x57, 0, 0, 0, 7, 0, 0, 0],
        ] where connection.receive() != nil {
            connection.send(answer)
        }
    }

    /// A keepalive whose bytes are all the same.
    private static func keepalive(_ byte: UInt8) -> [UInt8] {
        message("d", [UInt8(ascii: "k")] + [UInt8](repeating: byte, count: 17))
    }

    /// What a server says that shuts down.
    private static var end: [UInt8] { message("E", Array("SFATAL\0C57P01\0Mbye\0\0".utf8)) }

    private static func message(_ tag: Character, _ content: [UInt8]) -> [UInt8] {
        MessageBytes(tag).int32(Int32(content.count + 4)).bytes + content
    }
}

extension [PgOutputMessage] {
    /// Whether the last one is a message of `pg_logical_emit_message`.
    fileprivate var isAtEnd: Bool {
        if case .message = last { true } else { false }
    }
}
