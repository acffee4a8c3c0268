import Foundation
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Postgres writes TLS records of 8 KiB; proxies and managed servers write larger ones, of which libpq may take a part
/// and leave the rest with OpenSSL, where the socket does not show it.
@Suite(
    .enabled("needs python3 and openssl") {
        guard TestOptions.hasDatabase else { return false }
        for (program, arguments) in [("python3", ["-c", "import ssl"]), ("openssl", ["version"])] {
            let run = try? await ChildProcess.run(program, arguments, timeout: TestOptions.deadline)
            guard run?.status == .exited(0) else { return false }
        }
        return true
    }, .patient())
struct LargeTLSRecordTests {
    /// A proxy that ends TLS in front of a server without it and writes records of 16 KiB; it ends with its input.
    private static let proxy = """
        import os, select, socket, ssl, sys, threading
        folder, port = sys.argv[1], int(sys.argv[2])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder + "/server.crt", folder + "/server.key")
        def serve(plain):
            plain.recv(8)  # SSLRequest
            plain.sendall(b"S")
            client = context.wrap_socket(plain, server_side=True)
            server = socket.create_connection(("127.0.0.1", port))
            while True:
                ready = [client] if client.pending() else select.select([client, server], [], [])[0]
                if client in ready:
                    data = client.recv(65536)
                    if not data: break
                    server.sendall(data)
                if server in ready:
                    data = server.recv(1 << 20)
                    if not data: break
                    # All that belongs together, so that the records are as large as they can be.
                    while select.select([server], [], [], 0.01)[0]:
                        more = server.recv(1 << 20)
                        if not more: break
                        data += more
                    client.sendall(data)
            client.close()
        listener = socket.create_server(("127.0.0.1", 0))
        with open(folder + "/port.new", "w") as file: file.write(str(listener.getsockname()[1]))
        os.rename(folder + "/port.new", folder + "/port")
        def accept():
            while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        threading.Thread(target=accept, daemon=True).start()
        sys.stdin.read()
        """

    @Test func everyAnswerArrivesWhateverItsLength() async throws {
        try await Self.behindProxy { connect in
            let connection = try await connect()
            // One row, and many: lengths around one and two records, with all that stands before them in the buffer.
            for length in stride(from: 8000, to: 50_000, by: 333) {
                let row = Task {
                    try await connection.query("SELECT repeat('x', $1::int)", [String(length)]).scalar
                }
                #expect(try await wait(forEndOf: row)?.utf8.count == length)
                let rows = Task {
                    try await connection.query(
                        "SELECT repeat('y', 99) FROM generate_series(1, $1::int)", [String(length / 100)]
                    ).rowCount
                }
                #expect(try await wait(forEndOf: rows) == length / 100)
            }
            // Rows of which the last is cut by the end of a full record, which has stalled asynchronous readers (ruby-pg #588).
            for total in stride(from: 81_600, to: 82_000, by: 25) {
                let rows = Task {
                    try await connection.query(
                        "SELECT repeat('z', 64) FROM generate_series(1, $1::int)", [String(total / 75)]
                    ).rowCount
                }
                #expect(try await wait(forEndOf: rows) == total / 75)
            }
            await connection.close()
        }
    }

    /// The end of an answer in a full record, of which libpq takes all but what it keeps of the row before: the connection is
    /// a new one each time, since a buffer that has once been enlarged has room for every record.
    @Test func theEndOfAnAnswerThatTLSHoldsBackIsRead() async throws {
        try await Self.behindProxy { connect in
            for records in 2...4 {
                for missing in stride(from: 0, through: 42, by: 14) {
                    let connection = try await connect()
                    // The first row has what is left: rows have 75 bytes, and 61 with the count are around them.
                    let total = records * 16_384 - missing
                    let count = (total - 61 - 4) / 75
                    let first = total - 61 - String(count).utf8.count - 75 * (count - 1) - 11
                    let sql = """
                        SELECT repeat('z', CASE WHEN i = 1 THEN \(first) ELSE 64 END) FROM generate_series(1, $1::int) AS i
                        """
                    let rows = Task { try await connection.query(sql, [String(count)]).rowCount }
                    #expect(try await wait(forEndOf: rows) == count, "\(records) records less \(missing)")
                    await connection.close()
                }
            }
        }
    }

    /// Has the proxy run, and lets a test connect through it.
    private static func behindProxy(
        _ body: (_ connect: () async throws -> PostgresConnection) async throws -> Void
    ) async throws {
        let folder = try TemporaryDirectory(prefix: "tls-records")
        defer { folder.remove() }
        let made = try await ChildProcess.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-days",
                "2", "-subj", "/CN=127.0.0.1", "-keyout", folder.path + "/server.key", "-out",
                folder.path + "/server.crt",
            ], timeout: TestOptions.deadline)
        try #require(made.status == .exited(0), "\(made.error)")
        let poller = try Poller()
        defer { poller.stop() }
        let server = try await TestPostgres.server()
        let child = try ChildProcess.spawn(
            "python3", ["-c", proxy, folder.path, String(server.port)], input: .pipe)
        let file = folder.path + "/port"
        let port = try await wait(for: "the proxy to listen") {
            try? String(contentsOfFile: file, encoding: .utf8)
        } until: {
            $0 != nil
        }
        let uri = server.uri().replacing(":\(server.port)/", with: ":\(port ?? "")/")
        try await body { try await PostgresConnection.connect(uri + "?sslmode=require", poller: poller) }
        if let input = child.input { close(input) }
        #expect(try await wait(forEndOf: child, called: "the proxy") == .exited(0))
    }
}
