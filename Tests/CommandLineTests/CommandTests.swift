import PowerSyncSystem
import Testing

@testable import PowerSyncCommandLine

@Suite struct CommandTests {
    private static let up = Command(
        "up", abstract: "Start it.", discussion: "Explains $0.\n\n  $0 --port 1",
        options: [
            Option("--port", "N", help: "The port.", standard: "8080"), Option("--json", help: "As JSON."),
            Option("--file", "FILE", help: "A file."),
        ], arguments: ["[NAME]"], variables: [Variable("HOME", help: "Home.")]
    ) { _ in 0 }
    private static let root = Command(
        "tool", abstract: "A tool.", subcommands: [up, Command("down", abstract: "Stop it.") { _ in 3 }])

    private func arguments(_ words: [String]) throws -> ParsedArguments {
        guard case .run(_, let arguments) = try ParsedCommand.parse(Self.root, words) else {
            throw CommandError("help instead of a run")
        }
        return arguments
    }

    @Test func readsOptionsFlagsAndArguments() throws {
        let parsed = try arguments(["up", "--port", "1", "--json", "--file=a=b", "--port=2", "name"])
        #expect(parsed.value("--port") == "2" && parsed.all("--port") == ["1", "2"])
        #expect(try parsed.number("--port", in: 0...65535) == 2)
        #expect(parsed.flag("--json") && parsed.value("--file") == "a=b" && parsed.arguments == ["name"])
        #expect(try arguments(["up", "--", "--port"]).arguments == ["--port"])
    }

    @Test func aLastArgumentWithAnEllipsisMayComeSeveralTimes() throws {
        let command = Command("gone", abstract: "Remove them.", arguments: ["ID…"]) { _ in 0 }
        guard case .run(_, let parsed) = try ParsedCommand.parse(command, ["a", "b", "c"]) else {
            throw CommandError("help instead of a run")
        }
        #expect(parsed.arguments == ["a", "b", "c"])
    }

    @Test(arguments: [["--proxy", ""], ["--proxy="]])
    func anEmptyValueIsOneWhereItSaysSomething(words: [String]) throws {
        let options = [
            Option("--proxy", "URL", help: "The proxy; '' for none.", mayBeEmpty: true),
            Option("--file", "FILE", help: "A file."),
        ]
        let command = Command("get", abstract: "Get it.", options: options) { _ in 0 }
        guard case .run(_, let parsed) = try ParsedCommand.parse(command, words + ["--file", "f"]) else {
            throw CommandError("help instead of a run")
        }
        #expect(parsed.value("--proxy") == "" && parsed.value("--file") == "f")
        let refusal = CommandError("--file needs a value: --file FILE; see get --help", exitStatus: 64)
        #expect(throws: refusal) { try ParsedCommand.parse(command, words + ["--file", ""]) }
        #expect(throws: refusal) { try ParsedCommand.parse(command, words + ["--file="]) }
    }

    @Test(arguments: [
        (["upp"], "there is no command \"upp\" (did you mean up?); see tool --help"),
        (["up", "--prot", "1"], "there is no option --prot (did you mean --port?); see tool up --help"),
        (["up", "--wholly-else"], "there is no option --wholly-else; see tool up --help"),
        (["up", "--port"], "--port needs a value: --port N; see tool up --help"),
        (["up", "--json=1"], "--json takes no value; see tool up --help"),
        (["up", "a", "b"], "unexpected argument \"b\"; see tool up --help"),
    ])
    func saysWhatCannotBeUnderstood(words: [String], message: String) {
        #expect(throws: CommandError(message, exitStatus: 64)) { try ParsedCommand.parse(Self.root, words) }
    }

    @Test(arguments: [["up", "--help"], ["up", "-h", "--wrong"], ["help", "up"]])
    func helpTeachesACommand(words: [String]) throws {
        guard case .help(let text) = try ParsedCommand.parse(Self.root, words) else {
            Issue.record("no help")
            return
        }
        #expect(
            text == """
                Start it.

                Usage: tool up [OPTIONS] [NAME]

                Options:
                  --port N     The port. (default: 8080)
                  --json       As JSON.
                  --file FILE  A file.
                  --help       Print this.
                  --version    Print the version.

                Environment:
                  HOME  Home.

                Explains tool up.

                  tool up --port 1
                """)
    }

    @Test(arguments: [["--version"], ["up", "--version"], ["up", "--json", "--version", "--wrong"]])
    func everyCommandTellsTheVersionOfTheProgram(words: [String]) throws {
        guard case .version(let text) = try ParsedCommand.parse(Self.root, words) else {
            Issue.record("no version")
            return
        }
        #expect(text == "tool \(PackageVersion.current)")
        #expect(text.wholeMatch(of: /tool \d+\.\d+\.\d+(-dev)?/) != nil)
    }

    @Test func whatFollowsTwoDashesAsksForNothing() throws {
        #expect(try arguments(["up", "--", "--version"]).arguments == ["--version"])
    }

    @Test func returnsTheStatusOfTheCommand() async {
        #expect(await Self.root.main(["down"]) == 3)
        let errors = Lock<[String]>([])
        let status = await Self.root.main(["nothing"]) { line in errors.withLock { $0.append(line) } }
        #expect(status == 64)
        #expect(errors.withLock { $0 } == ["error: there is no command \"nothing\"; see tool --help"])
    }

    @Test func refusesANumberOutOfRange() throws {
        let parsed = try arguments(["up", "--port", "70000"])
        #expect(throws: CommandError.self) { try parsed.number("--port", in: 0...65535) }
    }
}

@Suite struct LogTests {
    private func lines(_ format: Log.Format, _ level: LogLevel, _ write: (Log) -> Void) async -> [String] {
        let (stream, lines) = AsyncStream.makeStream(of: String.self)
        write(Log(label: "part", level: level, format: format) { lines.yield($0) })
        lines.finish()
        return await stream.reduce(into: []) { $0.append($1) }
    }

    @Test func writesTextWithValuesBehindTheMessage() async {
        let line = await lines(.text, .info) {
            $0.warning("slow", ["http.status": "200", "path": "/a b", "n": "x=\"y\""])
        }[0]
        #expect(line.hasSuffix("Z WARNING part: slow http.status=200 n=\"x=\\\"y\\\"\" path=\"/a b\""))
    }

    /// What acts on a terminal or on the order of the text: values are those of clients.
    @Test(arguments: [
        ("\u{9B}2J", "\\u009b2J"), ("\u{7F}", "\\u007f"), ("a\u{85}b", "a\\u0085b"),
        ("\u{1B}[2J", "\\u001b[2J"),
        ("x\u{202E}y", "x\\u202ey"), ("\u{2028}", "\\u2028"), ("\u{2029}", "\\u2029"),
        ("\u{FEFF}", "\\ufeff"),
        ("\u{E0041}", "\\udb40\\udc41"),
    ])
    func escapesWhatIsNotSeen(value: String, escaped: String) async throws {
        let text = await lines(.text, .info) { $0.info("m", ["k": value]) }[0]
        #expect(text.hasSuffix("Z INFO    part: m k=\"\(escaped)\""))
        let json = await lines(.json, .info) { $0.info("m", ["k": value]) }[0]
        #expect(json.hasSuffix("\"k\":\"\(escaped)\"}"))
        #expect(await lines(.text, .info) { $0.info("m", ["k": "é😀"]) }[0].hasSuffix(" k=é😀"))
    }

    @Test func writesOneJSONObjectALine() async {
        let line = await lines(.json, .info) { $0.error("bad\n\"x\"", ["k": "\u{1}"]) }[0]
        #expect(
            line.hasSuffix(
                "\"level\":\"error\",\"label\":\"part\",\"message\":\"bad\\n\\\"x\\\"\",\"k\":\"\\u0001\"}"))
    }

    @Test func leavesOutWhatIsTooLight() async {
        #expect(await lines(.text, .warning) { $0.info("no") }.isEmpty)
        #expect(
            LogLevel(name: "warn") == .warning && LogLevel(name: "silly") == .trace
                && LogLevel(name: "x") == nil)
    }
}
