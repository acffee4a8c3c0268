import Foundation
import PowerSyncSQLite
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTerminal
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The prompt, as a program of its own at a terminal.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct PromptTerminalTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory(prefix: "prompt-") }

    private var history: String { folder.path + "/state/powersync-stack/history" }

    /// Leaves by Ctrl-D, which closes the database.
    private func leave(_ program: PromptProgram) async throws {
        program.type(PromptProgram.controlD)
        #expect(try await program.end() == .exited(0))
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/c.db-wal"))
        #expect(program.terminal.isCooked)
    }

    @Test func itSaysWhatIsOpenAndControlDLeaves() async throws {
        let program = try await PromptProgram(in: folder.path)
        try await program.see("\(folder.path)/c.db, with http://127.0.0.1:1")
        try await program.see(".help")
        try await leave(program)
    }

    @Test func arrowUpBringsTheLastStatementBack() async throws {
        let program = try await PromptProgram(in: folder.path)
        try await program.ask("SELECT 40 + 2 AS answer;", for: "    42\n(1 row")
        var start = program.place
        program.type(PromptProgram.arrowUp)
        try await program.see("SELECT 40 + 2 AS answer;", since: start)
        try await program.ask("", for: "    42\n(1 row")
        // A statement of several lines comes back as one.
        start = program.place
        program.type("INSERT INTO items (id, name)\r")
        try await program.see("...>", since: start)
        try await program.ask("VALUES (uuid(), 'one');", for: "(done")
        program.type(PromptProgram.arrowUp)
        try await program.ask("", for: "(done")
        try await program.ask("SELECT count(*) AS count FROM items;", for: "    2\n(1 row")
        try await leave(program)
    }

    @Test func controlCGivesUpTheLineAndNothingElse() async throws {
        let program = try await PromptProgram(in: folder.path)
        program.type("SELECT 'half")
        try await program.see("SELECT 'half")
        var start = program.place
        program.type(PromptProgram.controlC)
        try await program.see("^C\n", since: start)
        try await program.see("offline>", since: start)
        try await program.ask("SELECT 7 * 6 AS answer;", for: "    42\n(1 row")
        // The second time on an empty line it says how to leave.
        for _ in 0..<2 {
            start = program.place
            program.type(PromptProgram.controlC)
            try await program.see("offline>", since: start)
        }
        try await program.see("Ctrl-D or .quit leaves")
        // A statement of which a part has been typed goes as a whole.
        start = program.place
        program.type("SELECT 1,\r")
        try await program.see("...>", since: start)
        program.type(PromptProgram.controlC)
        try await program.see("offline>", since: start)
        try await program.ask("SELECT 5 AS five;", for: "   5\n(1 row")
        try await leave(program)
    }

    /// libedit reads what is searched for by itself, and a user may have keys of vi.
    @Test func controlCGivesUpASearchOfVi() async throws {
        try "bind -v\n".write(toFile: folder.path + "/.editrc", atomically: true, encoding: .utf8)
        let program = try await PromptProgram(in: folder.path)
        program.type("SELECT 'half")
        try await program.see("SELECT 'half")
        var start = program.place
        program.type("\u{1B}/")
        try await program.see("/", since: start)
        start = program.place
        program.type(PromptProgram.controlC)
        try await program.see("^C\n", since: start)
        try await program.see("offline>", since: start)
        try await program.ask("SELECT 7 * 6 AS answer;", for: "    42\n(1 row")
        try await leave(program)
    }

    @Test func controlCEndsAWaitAndAStatementThatRuns() async throws {
        let program = try await PromptProgram(in: folder.path)
        let numbers = "WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c)"
        for endless in [
            ".wait first-sync", "\(numbers) SELECT count(*) FROM c;",
            "CREATE TABLE plain AS \(numbers) SELECT n FROM c;",
        ] {
            let start = program.place
            program.type(endless + "\r")
            // It runs when the line has been taken, or is about to.
            try await wait(for: "the end of the line") { program.terminal.isCooked }
            program.type(PromptProgram.controlC)
            try await wait(
                for: "the next prompt", read: { program.terminal.text(since: start) },
                until: { seen in
                    guard let mark = seen.firstRange(of: "^C") else { return false }
                    return seen[mark.upperBound...].contains("offline>")
                })
        }
        try await program.ask(
            "SELECT count(*) AS count FROM sqlite_schema WHERE name = 'plain';", for: "    0\n")
        try await leave(program)
    }

    @Test func controlZGivesTheTerminalToTheShellAndThePromptComesBack() async throws {
        let shell = #"set -m; "$@"; stty sane; echo stopped; read go; fg >/dev/null; echo over"#
        let program = try await PromptProgram(in: folder.path, shell: shell)
        program.type("SELECT 40")
        try await program.see("SELECT 40")
        program.type(PromptProgram.controlZ)
        try await program.see("stopped")
        #expect(program.terminal.isCooked)
        let start = program.place
        program.type("go\n")
        // The modes are libedit's again, and so is the line.
        try await program.see("offline> SELECT 40", since: start)
        #expect(!program.terminal.isCooked)
        try await program.ask(" + 2 AS answer;", for: "    42\n(1 row")
        try await leave(program)
        try await program.see("over", since: start)
    }

    /// The shell edits lines then, and the terminal's modes are its own.
    @Test(.enabled("the states of processes are known") { Processes.state(of: getpid()) != nil })
    func inTheBackgroundItLeavesTheTerminalAsItIs() async throws {
        let shell = #"set -m; "$@"; stty sane; bg >/dev/null; echo behind; read go; fg >/dev/null; echo over"#
        let program = try await PromptProgram(in: folder.path, shell: shell)
        let id = try #require(
            Processes.naming(folder.path + "/c.db").compactMap { line -> Int32? in
                let words = line.split(separator: " ")
                guard words.count > 1, words[1].hasSuffix("/powersync-stack") else { return nil }
                return Int32(words[0].dropLast())
            }.first)
        let other = try SQLiteConnection(path: folder.path + "/c.db")
        try other.execute("BEGIN IMMEDIATE")
        program.type("INSERT INTO items (id, name) VALUES ('a', 'one');\r")
        try await wait(for: "the end of the line") { program.terminal.isCooked }
        program.type(PromptProgram.controlZ)
        try await program.see("behind")
        try other.execute("ROLLBACK")
        other.close()
        try await program.see("(done")
        // It asks for the terminal, and the system stops it.
        try await wait(for: "the program to be stopped") { Processes.state(of: id) == "T" }
        #expect(program.terminal.isCooked)
        let start = program.place
        program.type("go\n")
        try await program.see("offline, 1 to upload>", since: start)
        try await program.ask("SELECT count(*) AS count FROM items;", for: "    1\n(1 row")
        try await leave(program)
    }

    @Test func aWideTableFitsIntoTheTerminal() async throws {
        let program = try await PromptProgram(in: folder.path, columns: 40)
        let start = program.place
        try await program.ask(
            "SELECT 1 AS id, printf('%.100c', 'x') AS text, 'y' AS other;", for: ".mode line")
        let lines = program.terminal.text(since: start).split(separator: "\n").filter { $0.contains(" | ") }
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { DisplayWidth().of($0) <= 40 })
        #expect(lines.last?.contains("…") == true)
        let before = program.place
        let columns = (1...9).map { "'value \($0)' AS c\($0)" }.joined(separator: ", ")
        try await program.ask("SELECT \(columns);", for: "c9 | value 9")
        #expect(program.terminal.text(since: before).contains("-[ 1 ]-"))
        // In a wider terminal there is room for all.
        program.terminal.resize(columns: 200)
        try await program.ask(
            "SELECT 1 AS id, printf('%.100c', 'x') AS text, 'y' AS other;",
            for: "\(String(repeating: "x", count: 100)) | y")
        try await leave(program)
    }

    /// The system tells the program of the size.
    @Test func aTerminalOfAnotherSizeHasTheLineAnew() async throws {
        let program = try await PromptProgram(in: folder.path)
        program.type("SELECT 40")
        try await program.see("SELECT 40")
        let start = program.place
        program.terminal.resize(columns: 40)
        try await program.see("offline> SELECT 40", since: start)
        try await program.ask(" + 2 AS answer;", for: "    42\n(1 row")
        try await leave(program)
    }

    @Test func ofManyRowsAThousandAreShown() async throws {
        let program = try await PromptProgram(in: folder.path)
        let start = program.place
        try await program.ask(
            "WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c LIMIT 1001) SELECT n FROM c;",
            for: "(the first 1000 of 1001 rows, ")
        let shown = program.terminal.text(since: start)
        #expect(shown.contains("\n1000\n") && !shown.contains("\n1001\n"))
        try await leave(program)
    }

    @Test func aServiceThatIsLostShowsAndWhatIsTypedStays() async throws {
        var peer: ScriptedPeer? = try ScriptedPeer()
        let url = try #require(peer).url
        let program = try await PromptProgram(in: folder.path, endpoint: url)
        program.type(".connect\r")
        let stream = try await #require(peer).stream()
        stream.say(ScriptedPeer.checkpoint(1), ScriptedPeer.row(1), ScriptedPeer.complete(1))
        try await program.see("connected\n")
        try await program.see("first sync complete\n")
        try await program.ask("SELECT name FROM items;", for: "row 1\n(1 row")
        try await program.see("connected, synced ")
        program.type("SELECT 'kept'")
        try await program.see("SELECT 'kept'")
        let start = program.place
        // The stream ends, and nobody accepts another one.
        peer = nil
        try await program.see("service lost: ", since: start)
        try await wait(
            for: "the line behind the news", read: { program.terminal.text(since: start) },
            until: { seen in
                guard let lost = seen.firstRange(of: "service lost: ") else { return false }
                return seen[lost.upperBound...].firstRange(of: "connecting, synced ").map {
                    seen[$0.upperBound...].contains("> SELECT 'kept'")
                } ?? false
            })
        try await program.see("not connected: ", since: start)
        try await program.ask(" AS answer;", for: "kept\n(1 row")
        try await program.ask(".status", for: "download error")
        try await leave(program)
    }

    @Test func changesThatWaitAreInThePrompt() async throws {
        let program = try await PromptProgram(in: folder.path)
        program.type("INSERT INTO items (id, name) VALUES ('a', 'one');\r")
        try await program.see("offline, 1 to upload>")
        try await program.ask(".queue", for: "(1 change to upload")
        try await leave(program)
    }

    @Test func aWatchedQueryIsShownAgainAndWhatIsTypedStays() async throws {
        let program = try await PromptProgram(in: folder.path)
        try await program.ask(".watch SELECT count(*) AS count FROM items", for: "(watch 1: 1 row)")
        let other = try await PromptProgram(in: folder.path)
        program.type("SELECT 'kept'")
        try await program.see("SELECT 'kept'")
        let start = program.place
        try await other.ask("INSERT INTO items (id, name) VALUES ('a', 'one');", for: "(done")
        try await program.see("    1\n(watch 1: 1 row)\n", since: start)
        try await wait(
            for: "the line below", read: { program.terminal.text(since: start) },
            until: { $0.contains("> SELECT 'kept'") })
        try await program.ask(";", for: "kept\n(1 row")
        try await program.ask(".unwatch", for: "ended: watch 1")
        other.type(PromptProgram.controlD)
        #expect(try await other.end() == .exited(0))
        try await leave(program)
    }

    @Test func theHistoryIsThereInTheNextRunAndForItsOwnerAlone() async throws {
        let first = try await PromptProgram(in: folder.path)
        try await first.ask("SELECT 40 + 2 AS answer;", for: "    42\n(1 row")
        try await first.ask(" SELECT 'secret' AS word;", for: "secret\n(1 row")
        try await leave(first)
        var status = stat()
        #expect(stat(history, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        let kept = try String(contentsOf: URL(filePath: history), encoding: .utf8)
        #expect(kept == "SELECT 40 + 2 AS answer;\n")
        let second = try await PromptProgram(in: folder.path)
        second.type(PromptProgram.arrowUp)
        try await second.ask("", for: "    42\n(1 row")
        try await leave(second)
    }

    @Test(arguments: [SIGTERM, SIGHUP, SIGQUIT])
    func aSignalClosesTheDatabaseAndGivesTheTerminalBack(signal: Int32) async throws {
        let program = try await PromptProgram(in: folder.path)
        try await program.ask("INSERT INTO items (id, name) VALUES ('a', 'one');", for: "(done")
        program.type("SELECT 'half")
        try await program.see("SELECT 'half")
        #expect(!program.terminal.isCooked)
        program.process.signal(signal)
        #expect(try await program.end() == .exited(0))
        #expect(program.terminal.isCooked)
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/c.db-wal"))
    }

    @Test func halfACharacterHoldsUpNoEnd() async throws {
        let program = try await PromptProgram(in: folder.path)
        program.terminal.type(Array("SELECT 'half".utf8) + [0xC3])
        try await program.see("SELECT 'half")
        program.process.signal(SIGTERM)
        #expect(try await program.end() == .exited(0))
        #expect(program.terminal.isCooked)
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/c.db-wal"))
    }

    /// The system, which edits lines meanwhile, takes it for the end of one.
    @Test func controlDThatIsTypedAheadLeaves() async throws {
        let program = try await PromptProgram(in: folder.path)
        program.type(".wait first-sync\r")
        try await wait(for: "the end of the line") { program.terminal.isCooked }
        program.type(PromptProgram.controlD)
        // Control-C would take back what has been typed.
        program.process.signal(SIGINT)
        #expect(try await program.end() == .exited(0))
        #expect(program.terminal.isCooked)
    }

    @Test func nothingInARowActsOnTheTerminal() async throws {
        let program = try await PromptProgram(in: folder.path, kind: "dumb")
        let start = program.terminal.written.count
        try await program.ask("SELECT char(27, 91) || '31mred' AS word;", for: "\\x1b[31mred\n")
        // A terminal of this kind gets no escapes from us either.
        #expect(!program.terminal.written[start...].contains(0x1B))
        try await leave(program)
    }

    @Test func lettersOfAllLanguagesCanBeTyped() async throws {
        let program = try await PromptProgram(in: folder.path)
        try await program.ask("SELECT 'Grüße, 漢字' AS word, length('漢字') AS n;", for: "Grüße, 漢字 | 2\n")
        try await leave(program)
    }

    @Test func aScriptThroughAPipeHasNoPromptAndItsStatusSaysWhatFailed() async throws {
        let schema = folder.path + "/schema.json"
        try #"{"tables":[{"name":"items","columns":[{"name":"name","type":"text"}]}]}"#.write(
            toFile: schema, atomically: true, encoding: .utf8)
        var environment = ProcessInfo.processInfo.environment
        // Where the history would be.
        environment["XDG_STATE_HOME"] = folder.path + "/state"
        let result = try await ChildProcess.run(
            Repository.executable("powersync-stack"),
            [
                "client", "--db", folder.path + "/c.db", "--schema", schema, "--endpoint",
                "http://127.0.0.1:1", "--token", "t",
            ], environment: environment,
            input: """
                INSERT INTO items (id, name) VALUES ('a', 'one');
                SELEC;
                SELECT name FROM items;
                """, timeout: TestOptions.deadline)
        #expect(result.status == .exited(1))
        #expect(result.error == "error: line 2: near \"SELEC\": syntax error\n")
        #expect(result.output.contains("name\n----\none\n(1 row"))
        #expect(!result.output.contains("offline>") && !result.output.contains("\u{1B}"))
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/c.db-wal"))
        #expect(!FileManager.default.fileExists(atPath: history))
    }
}
