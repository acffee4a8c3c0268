import PowerSync
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

    private func options(
        _ words: [String], _ environment: [String: String] = [:], database: String = ":memory:"
    ) throws -> ClientOptions {
        let files = ["--db", database, "--schema", folder.path + "/schema.json", "--endpoint", "http://s"]
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

    // MARK: The way to the servers

    /// Nil would be that of the environment.
    @Test(arguments: [["--proxy", ""], ["--proxy="]])
    func anEmptyProxyIsNone(words: [String]) throws {
        let seen = try options(Self.user + words)
        #expect(seen.transport?.proxy == "")
        #expect(seen.connectOptions.clientConfiguration?.transport?.proxy == "")
    }

    @Test func theWayToTheServiceIsAsTheOptionsSay() throws {
        let seen = try options(
            Self.user + [
                "--proxy", "http://p:1", "--ca-file", "ca.pem", "--client-cert", "c.pem", "--client-key",
                "k.pem", "--checkpoint-requests",
            ])
        let transport = try #require(seen.connectOptions.clientConfiguration?.transport)
        #expect(transport.proxy == "http://p:1")
        #expect(transport.certificateAuthorities?.description == "ca.pem")
        #expect(transport.clientCertificate?.certificate.description == "c.pem")
        #expect(transport.clientCertificate?.key?.description == "k.pem")
        guard case .requests(checkpointRequestRetryDelay: nil) = seen.connectOptions.checkpointMode else {
            Issue.record("it is \(seen.connectOptions.checkpointMode)")
            return
        }
        let standard = try options(Self.user)
        #expect(standard.transport == nil && standard.connectOptions.clientConfiguration == nil)
        guard case .legacy = standard.connectOptions.checkpointMode else {
            Issue.record("it is \(standard.connectOptions.checkpointMode)")
            return
        }
    }

    @Test func aKeyWithoutItsCertificateIsAMistake() {
        let error = #expect(throws: CommandError.self) { try options(Self.user + ["--client-key", "k.pem"]) }
        #expect(error?.message == "--client-key needs --client-cert FILE")
    }

    private func connector(of options: ClientOptions) -> any PowerSyncBackendConnectorProtocol {
        ClientConnector.make(options, telling: RefusedUploads { _ in })
    }

    @Test func theWayToTheBackendIsAsTheOptionsSay() async throws {
        let backend = try RawServer { connection in
            guard connection.request() != nil else { return }
            let body = #"{"token":"t","powersync_url":"http://127.0.0.1:1"}"#
            connection.send(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
                    + "Connection: close\r\n\r\n\(body)")
        }
        let proxy = try TestProxy()
        let login = ["--backend", backend.url(), "--user", "u"]
        let chosen = try options(login + ["--proxy", proxy.url()])
        #expect(try await connector(of: chosen).fetchCredentials()?.token == "t")
        #expect(proxy.lines == ["GET http://127.0.0.1:\(backend.port)/api/auth/token?user_id=u HTTP/1.1"])
        // A file that is not there is told by the one that is given, whichever that is.
        for option in ["--ca-file", "--client-cert"] {
            let absent = try options(login + [option, folder.path + "/absent.pem"])
            let error = await #expect(throws: PowerSyncError.self) {
                try await connector(of: absent).fetchCredentials()
            }
            #expect(error?.code == .fileAccess, "\(option)")
        }
        let keyless = try options(
            login + [
                "--client-cert", folder.path + "/schema.json", "--client-key", folder.path + "/absent.pem",
            ])
        let error = await #expect(throws: PowerSyncError.self) {
            try await connector(of: keyless).fetchCredentials()
        }
        #expect(error?.code == .fileAccess)
        #expect(error?.localizedDescription.contains("absent.pem") == true)
    }

    // MARK: Files

    private static let user = ["--backend", "http://b", "--user", "u"]
    private static let query = ["--attachments", "SELECT photo_id AS id FROM items ; \n"]

    @Test func attachmentsHaveAQueryACacheAndATable() throws {
        let standard = try options(Self.user + Self.query, database: "/d/c.db")
        #expect(
            standard.attachments == AttachmentOptions("SELECT photo_id AS id FROM items", cacheLimit: 100))
        #expect(standard.schema.tables.map(\.name) == ["attachments"])
        #expect(standard.schema.tables.first?.localOnly == true)
        let small = try options(Self.user + Self.query + ["--attachment-cache", "0"], database: "/d/c.db")
        #expect(small.attachments?.cacheLimit == 0)
        let without = try options(Self.user, database: "/d/c.db")
        #expect(without.attachments == nil && without.schema.tables.isEmpty)
    }

    @Test(arguments: [
        (user + query, ":memory:", "--attachments needs a --db FILE"),
        (["--token", "t"] + query, "/d/c.db", "--attachments needs --backend URL and --user NAME"),
        (user + ["--attachment-cache", "5"], "/d/c.db", "--attachment-cache needs --attachments SQL"),
        (user + query + ["--attachment-cache", "few"], "/d/c.db", "--attachment-cache takes a number"),
    ])
    func attachmentsThatCannotBeAreAMistake(words: [String], database: String, message: String) {
        let error = #expect(throws: CommandError.self) { try options(words, database: database) }
        #expect(error?.exitStatus == CommandError.usageStatus)
        #expect(error?.message.hasPrefix(message) == true)
    }

    @Test(arguments: [
        (#"{"name":"attachments","columns":[]}"#, false),
        (#"{"name":"attachments","columns":[],"local_only":true}"#, false),
        (#"{"name":"files","view_name":"attachments","columns":[],"local_only":true}"#, false),
        (
            #"""
            {"name":"attachments","local_only":true,"columns":[{"name":"filename","type":"text"},
            {"name":"timestamp","type":"integer"},{"name":"state","type":"integer"},
            {"name":"has_synced","type":"integer"},{"name":"local_uri","type":"text"},
            {"name":"media_type","type":"text"},{"name":"size","type":"integer"},
            {"name":"meta_data","type":"text"},{"name":"note","type":"text"}]}
            """#, true
        ),
    ])
    func aTableOfTheNameMustBeTheOneThatIsMeant(table: String, isTaken: Bool) throws {
        let path = folder.path + "/schema.json"
        try "{\"tables\":[\(table)]}".write(toFile: path, atomically: true, encoding: .utf8)
        if isTaken {
            let seen = try options(Self.user + Self.query, database: "/d/c.db").schema
            #expect(seen.tables.count == 1 && seen.tables.first?.columns.count == 9)
        } else {
            let error = #expect(throws: StackError.self) {
                try options(Self.user + Self.query, database: "/d/c.db")
            }
            let start = "\(path): the table attachments is where attachments are kept"
            #expect(error?.message.hasPrefix(start) == true)
        }
    }

    @Test func aFileThatIsNotThereIsAMistake() {
        let error = #expect(throws: StackError.self) { try options(["--token-file", "/nowhere/token"]) }
        #expect(error?.message == "cannot read /nowhere/token: No such file or directory")
    }
}
