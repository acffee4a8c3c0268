import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncCommandLine
@testable import PowerSyncStack

/// Who the client is, by its command line, a file or the environment.
struct ClientOptionsTests {
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory(prefix: "client-")
        try #"{"tables":[]}"#.write(toFile: folder.path + "/schema.json", atomically: true, encoding: .utf8)
    }

    private func options(_ words: [String], _ environment: [String: String] = [:]) throws -> ClientOptions {
        let files = ["--db", ":memory:", "--schema", folder.path + "/schema.json", "--endpoint", "http://s"]
        guard case .run(_, let arguments) = try ParsedCommand.parse(ClientCommand.command, files + words)
        else {
            throw CommandError("help instead of a run")
        }
        return try ClientOptions(arguments, environment: environment)
    }

    /// Writes a file, and returns where it is.
    private func file(_ text: String) throws -> String {
        let path = folder.path + "/token"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    private func token(of options: ClientOptions) -> String? {
        if case .token(let token) = options.login { token } else { nil }
    }

    @Test(arguments: ["secret", "secret\n", "  secret\r\n\n"])
    func aFileMayHaveTheToken(text: String) throws {
        #expect(token(of: try options(["--token-file", try file(text)])) == "secret")
    }

    @Test func theEnvironmentMayHaveTheToken() throws {
        #expect(token(of: try options([], ["POWERSYNC_TOKEN": "secret"])) == "secret")
    }

    /// Whoever names a user wants their token, and no other.
    @Test func anOptionGoesBeforeTheEnvironment() throws {
        let environment = ["POWERSYNC_TOKEN": "secret"]
        #expect(token(of: try options(["--token", "other"], environment)) == "other")
        #expect(token(of: try options(["--token-file", try file("other")], environment)) == "other")
        let named = try options(["--backend", "http://b/", "--user", "u"], environment)
        guard case .user("u", backend: "http://b") = named.login else {
            Issue.record("it is \(named.login)")
            return
        }
    }

    @Test(arguments: [
        [], ["--token", "t", "--token-file", "f"], ["--token-file", "f", "--user", "u"],
        ["--backend", "http://b"], ["--token", "t", "--backend", "http://b", "--user", "u"],
    ])
    func whoIsNotClearIsAMistake(words: [String]) throws {
        let environment = words.isEmpty ? ["POWERSYNC_TOKEN": ""] : ["POWERSYNC_TOKEN": "secret"]
        let error = #expect(throws: CommandError.self) { try options(words, environment) }
        #expect(error?.exitStatus == CommandError.usageStatus)
        #expect(error?.message.contains("--token-file FILE or in POWERSYNC_TOKEN") == true)
        #expect(error?.message.contains("secret") == false)
    }

    @Test(arguments: ["", " \n", "two words"])
    func aFileWithoutOneWordIsAMistakeThatDoesNotTellIt(text: String) throws {
        let path = try file(text)
        let error = #expect(throws: StackError.self) { try options(["--token-file", path]) }
        #expect(error?.message.hasPrefix("\(path) has ") == true)
        #expect(error?.message.contains("two words") == false)
    }

    @Test func aFileThatIsNotThereIsAMistake() {
        let error = #expect(throws: StackError.self) { try options(["--token-file", "/nowhere/token"]) }
        #expect(error?.message == "cannot read /nowhere/token")
    }
}
