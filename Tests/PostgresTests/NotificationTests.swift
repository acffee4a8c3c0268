import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct NotificationTests {
    let poller: Poller

    init() throws {
        poller = try Poller()
    }

    private func withListener(
        _ body: (_ listener: PostgresConnection, _ other: PostgresConnection) async throws -> Void
    ) async throws {
        let uri = try await TestPostgres.database(poller)
        let listener = try await PostgresConnection.connect(uri, poller: poller)
        let other = try await PostgresConnection.connect(uri, poller: poller)
        try await listener.script("LISTEN changes")
        try await body(listener, other)
        await listener.close()
        await other.close()
    }

    /// Begins to wait, and returns when that has begun.
    private func begin(
        _ listener: PostgresConnection, until deadline: ContinuousClock.Instant? = nil
    ) async throws -> Task<[PostgresNotification], any Error> {
        let task = Task<[PostgresNotification], any Error> {
            while true {
                do {
                    return try await listener.notifications(until: deadline)
                } catch let error as PostgresError where error.code == .busy {
                    // The question below was there first.
                    await Task.yield()
                }
            }
        }
        try await wait(
            for: "the connection to be in use",
            read: { await refusal { try await listener.query("SELECT 1") } }, until: { $0 == .busy })
        return task
    }

    @Test func whoeverWaitsIsTold() async throws {
        try await withListener { listener, other in
            let task = try await begin(listener, until: .now + TestOptions.deadline)
            try await other.script("NOTIFY elsewhere, 'x'; NOTIFY changes, 'é🙂'; NOTIFY changes")
            let process = await other.backendProcessID
            let told = try await wait(forEndOf: task)
            #expect(
                told == [
                    PostgresNotification(channel: "changes", payload: "é🙂", processID: process),
                    PostgresNotification(channel: "changes", processID: process),
                ])
        }
    }

    @Test func whatComesBetweenStatementsIsKept() async throws {
        try await withListener { listener, other in
            try await other.script("NOTIFY changes, '1'")
            try await listener.script("DO $$ BEGIN RAISE NOTICE 'something else'; END $$")
            try await other.script("NOTIFY changes, '2'")
            _ = try await listener.pipeline([PostgresStatement("SELECT 1"), PostgresStatement("SELECT 2")])
            try await listener.script("NOTIFY changes, '3'; DO $$ BEGIN RAISE NOTICE 'and more'; END $$")
            var told: [String] = []
            while told.count < 3 {
                let more = try await listener.notifications(until: .now + TestOptions.deadline)
                try #require(!more.isEmpty)
                told += more.map(\.payload)
            }
            #expect(told == ["1", "2", "3"])
            #expect(try await listener.notifications(until: .now + .milliseconds(20)).isEmpty)
        }
    }

    @Test func anotherMessageEndsNoWait() async throws {
        let (first, last) = (BlockingGate(), BlockingGate())
        defer { for gate in [first, last] { gate.open() } }
        let server = try RawServer { connection in
            guard connection.receive() != nil else { return }
            // AuthenticationOk and ReadyForQuery.
            connection.send([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5A, 0, 0, 0, 5, 0x49])
            first.wait()
            // NoticeResponse and ParameterStatus.
            connection.send(Self.message("N", "SNOTICE\0Mhello\0\0") + Self.message("S", "a\0b\0"))
            last.wait()
            connection.send(Self.message("A", "\0\0\0\u{7}changes\0now\0"))
            connection.waitForHangUp()
        }
        let listener = try await PostgresConnection.connect(
            "postgres://user@127.0.0.1:\(server.port)/x?sslmode=disable&gssencmode=disable", poller: poller)
        let end = ContinuousClock.now + TestOptions.deadline
        let waiting = Task { try await listener.notifications(until: end) }
        first.open()
        try await wait(for: "the other messages") { last.arrivals == 1 }
        last.open()
        let told = try await wait(forEndOf: waiting)
        #expect(told == [PostgresNotification(channel: "changes", payload: "now", processID: 7)])
        await listener.close()
    }

    private static func message(_ letter: Unicode.Scalar, _ content: String) -> [UInt8] {
        let length = UInt32(content.utf8.count + 4)
        return [UInt8(ascii: letter)] + withUnsafeBytes(of: length.bigEndian) { Array($0) } + content.utf8
    }

    @Test func theWaitHasADeadlineAndCanBeCancelled() async throws {
        try await withListener { listener, other in
            #expect(try await listener.notifications(until: .now + .milliseconds(20)).isEmpty)
            let task = try await begin(listener)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await wait(forEndOf: task) }
            #expect(try await listener.query("SELECT 1").scalar == "1")
            try await other.script("NOTIFY changes, 'still'")
            let told = try await listener.notifications(until: .now + TestOptions.deadline)
            #expect(told.map(\.payload) == ["still"])
        }
    }

    @Test func aLossIsThrown() async throws {
        try await withListener { listener, other in
            let task = try await begin(listener)
            let process = "\(await listener.backendProcessID)"
            try await other.query("SELECT pg_terminate_backend($1)", [process])
            let lost = await #expect(throws: PostgresError.self) { try await wait(forEndOf: task) }
            #expect(lost?.isConnectionLost == true)
            let later = await #expect(throws: PostgresError.self) { try await listener.notifications() }
            #expect(later?.isConnectionLost == true)
            await listener.close()
            #expect(await refusal { _ = try await listener.notifications() } == .closed)
        }
    }
}
