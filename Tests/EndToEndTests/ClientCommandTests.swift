import Foundation
import PowerSyncPostgres
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// `powersync-stack client`, as a program of its own.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ClientCommandTests {
    private static let schema = """
        {"tables":[{"name":"lists","columns":[{"name":"owner_id","type":"text"},{"name":"name","type":"text"}]}]}
        """

    /// Lets `body` use a folder with the file of the schema.
    private func withFolder(
        schema: String = Self.schema, _ body: (_ folder: String) async throws -> Void
    ) async throws {
        let folder = try TemporaryDirectory(prefix: "client-")
        try schema.write(toFile: folder.path + "/schema.json", atomically: true, encoding: .utf8)
        try await body(folder.path)
        folder.remove()
    }

    private static func options(
        _ folder: String, database: String? = nil, endpoint: String = "http://127.0.0.1:1",
        login: [String] = ["--token", "t"]
    ) -> [String] {
        [
            "--db", database ?? folder + "/c.db", "--schema", folder + "/schema.json", "--endpoint", endpoint,
            "--json",
        ] + login
    }

    @Test func aSessionIsLinesInAndLinesOut() async throws {
        try await withFolder { folder in
            let result = try await ChildProcess.run(
                EndToEnd.executable, ["client"] + Self.options(folder),
                input: #"""
                    {"id":1,"op":"write","tx":[["INSERT INTO lists (id, name) VALUES ('a', ?)",["Groceries"]]]}
                    {"id":2,"op":"read","sql":"SELECT name FROM lists"}
                    """#, timeout: TestOptions.deadline)
            #expect(result.status == .exited(0))
            #expect(
                result.output.split(separator: "\n") == [
                    #"{"event":"ready"}"#, #"{"id":1,"ok":true,"results":[0]}"#,
                    #"{"id":2,"ok":true,"rows":[{"name":"Groceries"}]}"#,
                ])
            #expect(!FileManager.default.fileExists(atPath: folder + "/c.db-wal"))
        }
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func aSignalEndsItWithStatus0(signal: Int32) async throws {
        try await withFolder { folder in
            let client = try DrivenProcess(Self.options(folder))
            try client.send(#"{"id":1,"op":"wait","for":"first-sync"}"#)
            let written = try await client.ask(
                #"{"id":2,"op":"write","tx":[["INSERT INTO lists (id) VALUES ('a')"]]}"#)
            #expect(written["ok"] == .bool(true))
            client.process.signal(signal)
            #expect(try await client.end() == .exited(0))
            #expect(client.all.first { $0["id"] == .number("1") }?["code"] == .string("closed"))
            #expect(!FileManager.default.fileExists(atPath: folder + "/c.db-wal"))
        }
    }

    @Test func closeEndsItWhileItsInputIsOpen() async throws {
        try await withFolder { folder in
            let client = try DrivenProcess(Self.options(folder))
            #expect(try await client.ask(#"{"id":1,"op":"close"}"#).text == #"{"id":1,"ok":true}"#)
            #expect(try await client.end() == .exited(0))
        }
    }

    /// What it opens first must not be taken for a stream that is closed.
    @Test(arguments: [("<&-", 0), (">&-", 1), ("2>&-", 1), ("<&- >&- 2>&-", 0)])
    func aClosedStreamIsAnEmptyOne(redirection: String, rows: Int) async throws {
        try await withFolder { folder in
            let result = try await ChildProcess.run(
                "/bin/sh",
                ["-c", "exec \"$0\" client \"$@\" \(redirection)", EndToEnd.executable]
                    + Self.options(folder),
                input: #"{"id":1,"op":"write","tx":[["INSERT INTO lists (id) VALUES ('a')"]]}"#,
                timeout: TestOptions.deadline)
            #expect(result.status == .exited(0))
            let after = try await ChildProcess.run(
                EndToEnd.executable, ["client"] + Self.options(folder),
                input: #"{"id":1,"op":"read","sql":"SELECT count(*) AS n FROM lists"}"#,
                timeout: TestOptions.deadline)
            #expect(after.output.contains(#"{"id":1,"ok":true,"rows":[{"n":\#(rows)}]}"#))
        }
    }

    /// Neither shows in the list of processes.
    @Test(arguments: [true, false])
    func aTokenMayStandInAFileOrInTheEnvironment(isFile: Bool) async throws {
        let requests = Lock<[String]>([])
        let service = try RawServer { connection in
            guard let request = connection.request() else { return }
            requests.withLock { $0.append(request) }
        }
        try await withFolder { folder in
            try "secret\n".write(toFile: folder + "/token", atomically: true, encoding: .utf8)
            var environment = ProcessInfo.processInfo.environment
            environment["POWERSYNC_TOKEN"] = isFile ? nil : "secret"
            let login = isFile ? ["--token-file", folder + "/token"] : []
            let client = try DrivenProcess(
                Self.options(folder, endpoint: service.url(""), login: login), environment: environment)
            _ = try await client.ask(#"{"id":1,"op":"connect"}"#)
            try await wait(
                for: "the token at the service", read: { requests.withLock { $0 } },
                until: { $0.contains { $0.contains("Token secret\r\n") } })
            #if os(Linux)
                #expect(try Processes.naming(folder).allSatisfy { !$0.contains("secret") })
            #endif
            try client.send(#"{"op":"close"}"#)
            #expect(try await client.end() == .exited(0))
        }
    }

    #if os(Linux)
        @Test func aFullDiskIsStatus1AndALine() async throws {
            try await withFolder { folder in
                let result = try await ChildProcess.run(
                    "/bin/sh",
                    ["-c", "exec \"$0\" client \"$@\" >/dev/full", EndToEnd.executable]
                        + Self.options(folder),
                    input: "", timeout: TestOptions.deadline)
                #expect(result.status == .exited(1))
                #expect(
                    result.error == "error: cannot write to standard output: No space left on device\n")
            }
        }
    #endif

    /// Each failure to connect is a line for it.
    @Test func standardErrorThatNobodyReadsHoldsUpNothing() async throws {
        let service = try RawServer { connection in _ = connection.request() }
        try await withFolder { folder in
            let log = try FullPipe(folder + "/log")
            let client = try DrivenProcess(
                program: "/bin/sh",
                ["-c", "exec \"$0\" client \"$@\" 2>'\(folder)/log'", EndToEnd.executable]
                    + Self.options(folder, endpoint: service.url("")))
            let connected = try await client.ask(#"{"id":1,"op":"connect","retry":1}"#)
            #expect(connected["ok"] == .bool(true))
            try await wait(
                for: "attempts behind failures", read: { service.connections }, until: { $0 >= 5 })
            #expect(try await client.ask(#"{"id":2,"op":"disconnect"}"#)["ok"] == .bool(true))
            try client.send(#"{"op":"close"}"#)
            #expect(try await client.end() == .exited(0))
            #expect(log.isFull)
        }
    }

    /// It waits neither for a command nor for the end of them.
    @Test func aReaderThatLeavesIsStatus1WhileTheInputIsOpen() async throws {
        try await withFolder { folder in
            let client = try ChildProcess.spawn(
                EndToEnd.executable, ["client"] + Self.options(folder), input: .pipe, output: .pipe)
            let input = try #require(client.input)
            defer { close(input) }
            close(try #require(client.output))
            #expect(try await wait(forEndOf: client, called: "the client") == .exited(1))
        }
    }

    @Test func ofTwoProcessesWithOneFileOneSyncsAndTheOtherSaysSo() async throws {
        let service = try RawServer { connection in
            guard connection.request() != nil else { return }
            connection.send(String.chunkedHead)
            connection.waitForHangUp()
        }
        try await withFolder { folder in
            let first = try DrivenProcess(Self.options(folder, endpoint: service.url("")))
            _ = try await first.ask(#"{"id":1,"op":"connect"}"#)
            let second = try DrivenProcess(Self.options(folder, endpoint: service.url("")))
            _ = try await second.ask(#"{"id":1,"op":"connect"}"#)
            let own = try await first.ask(#"{"id":2,"op":"status"}"#)
            #expect(own["syncedElsewhere"] == .bool(false))
            let other = try await second.ask(#"{"id":2,"op":"status"}"#)
            #expect(other["syncedElsewhere"] == .bool(true))
            let refused = try await second.ask(#"{"id":3,"op":"wait","for":"up-to-date"}"#)
            #expect(refused["code"] == .string("invalidState"))
            for client in [first, second] {
                try client.send(#"{"op":"close"}"#)
                #expect(try await client.end() == .exited(0))
            }
        }
    }

    @Test func aDatabaseThatCannotBeOpenedIsStatus1AndNoLine() async throws {
        try await withFolder { folder in
            let result = try await ChildProcess.run(
                EndToEnd.executable, ["client"] + Self.options(folder, database: folder),
                input: #"{"id":1,"op":"crud-count"}"#, timeout: TestOptions.deadline)
            #expect(result.status == .exited(1))
            #expect(result.output.isEmpty)
            #expect(result.error.hasPrefix("error: ") && result.error.contains(folder))
        }
    }

    @Test func aSchemaThatMakesNoSenseIsStatus1WithItsPlace() async throws {
        try await withFolder(schema: #"{"tables":[{"name":"t","columns":[],"x":1}]}"#) { folder in
            let result = try await ChildProcess.run(
                EndToEnd.executable, ["client"] + Self.options(folder), timeout: TestOptions.deadline)
            #expect(result.status == .exited(1))
            #expect(result.error == "error: \(folder)/schema.json: tables[0].x: unknown key\n")
        }
    }

    @Test(arguments: [
        (["--json"], "--token TOKEN, or --backend URL and --user NAME"),
        (["--json", "--backend", "http://127.0.0.1:1"], "--token TOKEN, or --backend URL and --user NAME"),
        (
            ["--json", "--token", "t", "--backend", "http://127.0.0.1:1", "--user", "u"],
            "--token TOKEN, or --backend URL and --user NAME"
        ),
        (["--json", "--token", "t", "--params", "[1]"], "--params takes a JSON object"),
        (["--json", "--token", "t", "--client-key", "k.pem"], "--client-key needs --client-cert FILE"),
        ([], "--token TOKEN, or --backend URL and --user NAME"),
    ])
    func aCommandLineThatMakesNoSenseIsStatus64(more: [String], error: String) async throws {
        try await withFolder { folder in
            let result = try await ChildProcess.run(
                EndToEnd.executable,
                [
                    "client", "--db", folder + "/c.db", "--schema", folder + "/schema.json", "--endpoint",
                    "http://127.0.0.1:1",
                ] + more, timeout: TestOptions.deadline)
            #expect(result.status == .exited(64))
            #expect(result.error.contains(error))
            #expect(result.output.isEmpty)
        }
    }

    /// The main job, done by two programs that know nothing but lines: what one writes the other sees, and Postgres has it.
    @Test func aWriteOnOneClientArrivesAtAnother() async throws {
        try await EndToEnd.withWorld { world in
            let backend = try await world.stack.url(.backend)
            let service = try await world.stack.url(.service)
            try await withFolder { folder in
                let clients = try ["a", "b"].map { name in
                    try DrivenProcess(
                        Self.options(
                            folder, database: "\(folder)/\(name).db", endpoint: service,
                            login: ["--backend", backend, "--user", "alice"]))
                }
                let (a, b) = (clients[0], clients[1])
                for client in clients {
                    _ = try await client.ask(#"{"id":1,"op":"connect"}"#)
                    let synced = try await client.ask(#"{"id":2,"op":"wait","for":"first-sync"}"#)
                    #expect(synced["ok"] == .bool(true))
                }
                _ = try await b.ask(#"{"id":3,"op":"watch","sql":"SELECT name FROM lists"}"#)
                let written = try await a.ask(
                    #"""
                    {"id":4,"op":"write","tx":[["INSERT INTO lists (id, owner_id, name) VALUES (uuid(), ?, ?)",\#
                    ["alice","Groceries"]]]}
                    """#)
                #expect(written["results"]?.text == "[0]")
                try await wait(
                    for: "the row on the other client", read: { b.watched.last },
                    until: { $0 == #"[{"name":"Groceries"}]"# })
                let done = try await a.ask(#"{"id":5,"op":"wait","for":"up-to-date"}"#)
                #expect(done["ok"] == .bool(true))
                #expect(try await a.ask(#"{"id":6,"op":"crud-count"}"#)["count"] == .number("0"))
                let names = try await world.query("SELECT name FROM lists WHERE owner_id = 'alice'")
                #expect(names.scalar == "Groceries")
                for client in clients {
                    try client.send(#"{"op":"close"}"#)
                    #expect(try await client.end() == .exited(0))
                }
            }
        }
    }
}

/// A named pipe that is full, and that nobody reads.
private final class FullPipe: Sendable {
    private let descriptor: Int32

    /// Makes it at a path.
    init(_ path: String) throws {
        guard mkfifo(path, 0o600) == 0 else {
            throw SystemError(.file, "cannot make a pipe", errno: errno)
        }
        // For reading, too: else it could not be opened.
        descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(.file, "cannot open a pipe", errno: errno) }
        // Smaller pieces may find room yet.
        for size in [4096, 1] {
            let bytes = [UInt8](repeating: 0, count: size)
            while write(descriptor, bytes, size) > 0 {}
        }
    }

    deinit { close(descriptor) }

    /// Whether nothing was read.
    var isFull: Bool {
        let byte: [UInt8] = [0]
        return write(descriptor, byte, 1) < 0 && errno == EAGAIN
    }
}
