import Foundation
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// libpq closes its socket by itself when it reads the end, and somebody else may get the number.
@Suite(.patient())
struct LostConnectionTests {
    let poller: Poller

    init() throws {
        poller = try Poller()
    }

    @Test(.enabled(if: TestOptions.hasDatabase))
    func whoeverGetsTheNumberOfALostSocketIsStillToldOfEvents() async throws {
        let server = try await TestPostgres.server()
        let killer = try await PostgresConnection.connect(server.uri(), poller: poller)
        var isHit = false
        // Another test may be quicker to take the number.
        while !isHit {
            let connection = try await PostgresConnection.connect(server.uri(), poller: poller)
            let port = try await connection.query("SELECT inet_client_port()").scalar.flatMap { Int($0) }
            let number = try #require(port.flatMap { SocketOfPort($0)?.descriptor })
            try await killer.query(
                "SELECT pg_terminate_backend($1)", ["\(await connection.backendProcessID)"])
            try await wait(for: "the loss to be noticed") { await !connection.isAlive }
            // One of so many gets the number that became free.
            let pipes = (0..<32).map { _ in Pipe() }
            let channels = try pipes.map { try poller.channel($0.fileHandleForReading.fileDescriptor) }
            defer { for channel in channels { channel.deregister() } }
            isHit = channels.contains { $0.descriptor == number }
            await connection.close()
            for pipe in pipes { try pipe.fileHandleForWriting.close() }
            try await wait(
                for: "every channel to hear of its peer", read: { channels.count { !$0.isHungUp } },
                until: { $0 == 0 })
        }
        await killer.close()
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/net/tcp")))
    func aWriterThatWaitsForRoomIsToldOfTheLossThatTheReaderFound() async throws {
        let (loss, end) = (BlockingGate(), BlockingGate())
        defer { for gate in [loss, end] { gate.open() } }
        let server = try RawServer { connection in
            // AuthenticationOk and ReadyForQuery, then CopyBothResponse without columns.
            for answer: [UInt8] in [
                [0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5A, 0, 0, 0, 5, 0x49], [0x57, 0, 0, 0, 7, 0, 0, 0],
            ] where connection.receive() != nil {
                connection.send(answer)
            }
            // Nothing is read any more, also not after the end of what is sent.
            loss.wait()
            connection.finishSending()
            end.wait()
        }
        let connection = try await PostgresConnection.connect(
            "postgres://user@127.0.0.1:\(server.port)/x?sslmode=disable&gssencmode=disable", poller: poller)
        try await connection.copyBoth("START")
        // More than the buffers of two sockets hold: this call never ends by itself.
        let told = Lock<(any Error)?>(nil)
        let writer = Task {
            do {
                try await connection.putCopyData([UInt8](repeating: 7, count: 32 << 20))
            } catch {
                told.withLock { $0 = error }
            }
        }
        defer { writer.cancel() }
        // What is under way could still make room; with the timer for a closed window (4) nothing is.
        try await wait(
            for: "the server's window to be closed", read: { try timer(ofPeer: server.port) },
            until: { $0 == "04" })
        try await wait(
            for: "the writer to wait for room",
            // One call at a time may write, and the writer gives up its turn only to wait for room.
            read: { await refusal { try await connection.putCopyData([]) } }, until: { $0 == .busy })
        let reader = Task { while try await connection.nextCopyData() != nil {} }
        loss.open()
        let found = await #expect(throws: PostgresError.self) { try await reader.value }
        #expect(found?.isConnectionLost == true)
        try await wait(for: "the writer to be told") { told.withLock { $0 != nil } }
        #expect(told.withLock { $0 as? PostgresError }?.isConnectionLost == true)
        await connection.close()
    }
}

/// The timer (proc_net_tcp(5)) of the socket whose peer has this port; nil if there is none.
private func timer(ofPeer port: Int) throws -> String? {
    // A file of this kind has no size and comes a page at a time.
    let table = try FileHandle(forReadingAtPath: "/proc/net/tcp")?.readToEnd() ?? Data()
    let sockets = String(decoding: table, as: UTF8.self).split(separator: "\n")
    let peer = ":" + String(port + 0x10000, radix: 16, uppercase: true).dropFirst()
    return sockets.lazy.map { $0.split(separator: " ") }
        .first { $0[2].hasSuffix(peer) }.map { String($0[5].prefix(2)) }
}
