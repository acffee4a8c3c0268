import Foundation
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// `powersync-stack conformance` as a user starts it.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient(minutes: 60))
struct ConformanceCommandTests {
    private static let recordings = Repository.root.appending(path: "Tests/Fixtures/core").path

    private func run(_ arguments: [String]) async throws -> (status: Int32?, output: String, error: String) {
        let result = try await ChildProcess.run(
            EndToEnd.executable, ["conformance"] + arguments, timeout: TestOptions.deadline * 8)
        guard case .exited(let status) = result.status else { return (nil, result.output, result.error) }
        return (status, result.output, result.error)
    }

    @Test(arguments: [[], ["--sql"]]) func allRecordingsPass(options: [String]) async throws {
        let result = try await run(["core"] + options + [Self.recordings])
        #expect(result.status == 0 && result.output == "99 passed, 0 failed\n", "\(result.error)")
    }

    /// Every recorded token is judged as by the real service, and a verdict that is not is the exit status.
    @Test func allTokensAreJudgedAsRecorded() async throws {
        let path = Repository.fixtures.appending(path: "tokens/tokens.jsonl").path
        let result = try await run(["tokens", "--verbose", path])
        #expect(result.status == 0, "\(result.output)\(result.error)")
        #expect(result.output.split(separator: "\n").last?.hasPrefix("1500 passed (") == true)
        #expect(result.output.hasSuffix("0 failed\n"))
        // Refused there with another code.
        let sooner = result.output.split(separator: "\n").filter {
            $0.hasSuffix(" there") && !$0.contains("PSYNC_S2101")
        }
        #expect(
            sooner.compactMap { $0.split(separator: "line ").last?.prefix { $0.isNumber } }
                == ["8", "156", "286", "686", "896", "942", "1476"])
        let folder = try TemporaryDirectory(prefix: "powersync-conformance-")
        defer { folder.remove() }
        var lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        let good = try #require(
            lines.firstIndex { $0.contains("\"note\":\"good\"") && $0.contains("\"user\":") })
        lines[good] = Substring(lines[good].replacingOccurrences(of: "\"exp\":1", with: "\"exp\":2"))
        let changed = folder.path + "/changed.jsonl"
        try lines.joined(separator: "\n").write(toFile: changed, atomically: true, encoding: .utf8)
        let failed = try await run(["tokens", changed])
        #expect(failed.status == 1 && failed.output.contains("line \(good + 1) (good):"), "\(failed.output)")
        #expect(failed.output.contains("    - accepted, user ") && failed.output.hasSuffix("1 failed\n"))
    }

    @Test func aFailureIsTheExitStatus() async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-conformance-")
        defer { folder.remove() }
        try Data("{}".utf8).write(to: URL(filePath: folder.path + "/a.json"))
        let result = try await run(["core", folder.path])
        #expect(result.status == 1)
        #expect(result.output == "\(folder.path)/a.json: \"name\" is missing\n0 passed, 1 failed\n")
    }

    @Test func nothingToReplayIsAnError() async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-conformance-")
        defer { folder.remove() }
        let result = try await run(["core", folder.path])
        #expect(result.status == 1 && result.output.isEmpty)
        #expect(result.error.hasPrefix("error: there is no *.json below \(folder.path)"))
        let missing = try await run(["core"])
        #expect(missing.status == 64 && missing.error.hasPrefix("error: DIR is missing"))
    }

    private static let scenarios = Repository.root.appending(path: "Tests/Fixtures/service").path
    private static let missing = scenarios + "/missing.txt"

    @Test func ourServicePassesTheRecordingsOfTheRealOne() async throws {
        let result = try await run([
            "service", "--verbose", "--expect-missing", Self.missing, "--expect-differences",
            Self.scenarios + "/differences.txt", Self.scenarios,
        ])
        #expect(result.status == 0, "\(result.output) \(result.error)")
        let last = result.output.split(separator: "\n").last ?? ""
        let counts = last.split { !$0.isNumber }.compactMap { Int($0) }
        // Passed, of them line by line, failed, not run.
        try #require(counts.count == 4, "\(last)")
        #expect(counts[2] == 0 && counts[0] + counts[3] == 164)
        // Each of them stands in the list with its reason.
        #expect(counts[3] == 2)
        // Two transactions may come in one checkpoint on a busy machine, which lines tell and states do not.
        #expect(counts[1] * 10 >= counts[0] * 9, "\(result.output)")
    }

    /// Runs a scenario against our service, started by a command that first changes its configuration by `edit` of sed.
    private func run(_ name: String, sed edit: String) async throws -> (
        status: Int32?, output: String, error: String
    ) {
        let command =
            "sed '\(edit)' \"$POWERSYNC_CONFIG_PATH\" >\"$POWERSYNC_CONFIG_PATH.changed\" "
            + "&& POWERSYNC_CONFIG_PATH=$POWERSYNC_CONFIG_PATH.changed exec '\(EndToEnd.executable)' service start"
        return try await run(["service", "--command", command, "--only", name, Self.scenarios])
    }

    @Test func anotherServiceThatServesOtherRowsFailsReadably() async throws {
        let result = try await run("truncate", sed: "s/SELECT \\*/SELECT id/")
        #expect(result.status == 1)
        #expect(result.output.contains("truncate.json: step 1 (settle): c1: bucket "))
        #expect(result.output.contains(" differs:\n    - {\"id\":\"l1\",\"owner_id\""), "\(result.output)")
        #expect(result.output.contains("\n    + {\"id\":\"l1\"}\n"))
        #expect(result.output.hasSuffix("0 passed (0 of them line by line too), 1 failed\n"))
    }

    @Test func anotherServiceWithoutTheGaugeSettlesBySilence() async throws {
        let result = try await run("truncate", sed: "s/\"prometheus_port\":[0-9]*,//")
        #expect(result.status == 0, "\(result.output) \(result.error)")
        #expect(result.output.contains("no gauge powersync_sessions_behind"))
        // After a silence that was the machine's, lines may be counted to the next step.
        #expect(result.output.contains("\n1 passed (") && result.output.hasSuffix("), 0 failed\n"))
    }

    @Test func refusingIsAFailureUnlessListedAndListedIsOneUnlessRefused() async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-conformance-")
        defer { folder.remove() }
        let list = folder.path + "/missing.txt"
        try Data("truncate  the word truncate\nown  the word own\n".utf8).write(to: URL(filePath: list))
        let refused =
            #""sync_config":"config: {edition: 3}\nstreams:\n  s: {query: SELECT * FROM a LIMIT 1}\n""#
        let result = try await run(
            ["--expect-missing", list, "--only", "own,refused"],
            written: [
                "own.json": #"{"name":"own",\#(Self.accepted),"steps":[]}"#,
                "refused.json": #"{"name":"refused",\#(refused),"steps":[]}"#,
            ])
        #expect(result.status == 1)
        #expect(
            result.output.contains(
                "refused.json: refused, which is not listed: 3:36: error: LIMIT is not supported"),
            "\(result.output)")
        #expect(result.output.contains("own.json: listed as refused (the word own), but accepted"))
        #expect(result.output.hasSuffix("0 passed (0 of them line by line too), 2 failed\n"))
        let ended = try await run([
            "service", "--command", "echo no; exit 3", "--only", "truncate", Self.scenarios,
        ])
        #expect(ended.status == 1)
        #expect(ended.output.contains("truncate.json: refused, which is not listed: no (status 3)\n"))
        // Nobody refuses a configuration with these.
        for (command, end) in [("./nowhere 2>&1", "status 127"), ("kill -SEGV $$", "status 139")] {
            let result = try await run([
                "service", "--command", command, "--expect-missing", list, "--only", "truncate",
                Self.scenarios,
            ])
            #expect(result.status == 1)
            #expect(result.output.contains("truncate.json: the command did not start: "), "\(result.output)")
            #expect(result.output.contains(end), "\(result.output)")
        }
    }

    /// Runs scenarios that a test wrote down, each a file of its name.
    private func run(_ options: [String], written scenarios: [String: String]) async throws -> (
        status: Int32?, output: String, error: String
    ) {
        let folder = try TemporaryDirectory(prefix: "powersync-conformance-")
        defer { folder.remove() }
        for (name, text) in scenarios {
            try Data(text.utf8).write(to: URL(filePath: folder.path + "/" + name))
        }
        let result = try await run(["service"] + options + [folder.path])
        return (
            result.status, result.output.replacing(folder.path, with: "DIR"),
            result.error.replacing(folder.path, with: "DIR")
        )
    }

    /// A configuration that our service accepts.
    private static let accepted =
        #""sync_config":"config: {edition: 3}\nstreams:\n  s: {query: SELECT * FROM a}\n""#

    @Test func ourOwnServiceThatEndsAtItsStartIsAFailure() async throws {
        // Two ports are no configuration.
        let own =
            #"{"name":"own",\#(Self.accepted),"service":{"port":1},"steps":[{"settle":1,"lines":{}}]}"#
        let result = try await run([], written: ["own.json": own])
        #expect(result.status == 1)
        #expect(result.output.contains("DIR/own.json: the service ended: "), "\(result.output)")
    }

    @Test func aTransactionOfTheSourceDoesNotWaitForEver() async throws {
        let tx =
            "DO $$BEGIN IF current_setting('lock_timeout') <> '30s' OR current_setting('statement_timeout') <> '2min' "
            + "THEN RAISE 'it would'; END IF; END$$"
        let steps =
            #"[{"tx":["\#(tx)"]},{"http":{"method":"GET","path":"/probes/liveness","user":"u"},"#
            + #""answer":{"status":200,"headers":{"content-type":"application/json; charset=utf-8"}}}]"#
        let schema = #""schema":["CREATE TABLE a(id text)"]"#
        let result = try await run(
            [], written: ["a.json": #"{"name":"a",\#(Self.accepted),\#(schema),"steps":\#(steps)}"#])
        #expect(
            result.output.hasSuffix("1 passed (1 of them line by line too), 0 failed\n"), "\(result.output)")
    }

    @Test func scenariosThatAreNotThereAreAnError() async throws {
        let result = try await run(["service", "--only", "nowhere", Self.scenarios])
        #expect(result.status == 1)
        #expect(result.error.hasPrefix("error: there is no scenario nowhere below "))
        let stale = try await run(["--expect-missing", Self.missing], written: ["a.json": Self.written("a")])
        #expect(stale.status == 1 && stale.error.contains("the list of what may be refused names "))
    }

    /// A scenario without steps.
    private static func written(_ name: String) -> String {
        #"{"name":"\#(name)","sync_config":"","steps":[]}"#
    }

    @Test func filesThatAreNoScenariosOrHaveOneNameAreAnError() async throws {
        let other = try await run([], written: ["a.json": Self.written("a"), "b.json": "{}"])
        #expect(
            other.status == 1 && other.error == "error: DIR/b.json: \"name\" is missing\n", "\(other.error)")
        let twice = try await run([], written: ["a.json": Self.written("x"), "b.json": Self.written("x")])
        #expect(twice.status == 1)
        #expect(twice.error == "error: DIR/a.json and DIR/b.json are both named x; names must differ\n")
    }

    @Test func whatIsNotRunHasToBeListed() async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-conformance-")
        defer { folder.remove() }
        let list = folder.path + "/missing.txt"
        try Data("truncate  x\n".utf8).write(to: URL(filePath: list))
        let result = try await run([
            "service", "--expect-missing", list, "--only", "compaction-everything-removed", Self.scenarios,
        ])
        #expect(result.status == 1)
        #expect(
            result.output.contains(
                "compaction-everything-removed.json: not run, which is not listed: not run from step"),
            "\(result.output)")
    }

    /// What is no map is refused by every edition: one job expects that, the other one does not.
    @Test func languagePrintsDifferences() async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-conformance-")
        defer { folder.remove() }
        let worlds = #"{"schema":{},"expressions":[],"configurations":[]}"#
        try Data(worlds.utf8).write(to: URL(filePath: folder.path + "/worlds.json"))
        let errors = #"[{"level":"fatal","message":"what the real one says"}]"#
        let jobs = [errors, "[]"].enumerated().map { index, errors in
            #"{"id":\#(index + 1),"yaml":"[1]","schema":false,"result":{"errors":\#(errors)}}"# + "\n"
        }
        let path = folder.path + "/jobs.jsonl"
        try Data(jobs.joined().utf8).write(to: URL(filePath: path))
        let result = try await run(["language", path])
        let lines = result.output.split(separator: "\n").map(String.init)
        #expect(result.status == 1 && lines.prefix(2) == ["\(path): job 2 differs", "  messages:"])
        #expect(lines.dropFirst(2).first?.hasPrefix("    + fatal ") == true, "\(result.output)")
        #expect(lines.last == "1 passed, 1 failed")
        let one = try await run(["language", "--only", "1", path])
        #expect(one.status == 0 && one.output == "1 passed, 0 failed\n")
        let missing = folder.path + "/missing.txt"
        try Data("jobs 2 whatever\n".utf8).write(to: URL(filePath: missing))
        let listed = try await run(["language", "--expect-differences", missing, path])
        #expect(listed.status == 0 && listed.output == "1 differ and are listed\n1 passed, 0 failed\n")
        try Data("jobs 1-2 whatever\n".utf8).write(to: URL(filePath: missing))
        let stale = try await run(["language", "--expect-differences", missing, path])
        #expect(
            stale.status == 1 && stale.output.contains("job 1 is listed (whatever), but equal: strike it off")
        )
        try Data("jobs\n".utf8).write(to: URL(filePath: missing))
        let broken = try await run(["language", "--expect-differences", missing, path])
        #expect(broken.status == 1 && broken.error.hasPrefix("error: \(missing):1: a line is"))
        let absent = try await run(["language", folder.path + "/none/jobs.jsonl"])
        #expect(
            absent.status == 1 && absent.error.hasPrefix("error: cannot read \(folder.path)/none/jobs.jsonl"))
        let place = try await run(["language", folder.path])
        #expect(place.status == 1 && place.error.hasPrefix("error: \(folder.path) is a folder; name a file"))
        let none = try await run(["language"])
        #expect(none.status == 64 && none.error.hasPrefix("error: FILE is missing"))
        let other = try await run(["language", "--only", "x", path])
        #expect(other.status == 64 && other.error.hasPrefix("error: --only takes numbers"))
    }

    @Test func helpTeaches() async throws {
        let group = try await run(["--help"])
        #expect(group.status == 0 && group.output.contains("powersync-stack conformance core Tests/Fixtures"))
        let core = try await run(["core", "--help"])
        #expect(core.status == 0 && core.output.contains("A transcript is one JSON file"))
        let service = try await run(["service", "--help"])
        #expect(service.status == 0 && service.output.contains("A scenario is one JSON file"))
    }
}
