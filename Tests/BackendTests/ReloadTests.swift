import PowerSyncCrypto
import PowerSyncHTTP
import Foundation
import PowerSyncBackend
import PowerSyncHTTPTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What a running backend reads again (backend 8.1; Backend/Start/SPEC.md).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ReloadTests {
    private static let schema = """
        CREATE TABLE lists (id text PRIMARY KEY, name text);
        CREATE TABLE notes (id text PRIMARY KEY, name text);
        """
    private static let one = "tables:\n  lists: {}\n"
    private static let both = "tables:\n  lists: {}\n  notes: {}\n"

    private static func put(_ table: String) -> String {
        #"{"op":"PUT","table":"\#(table)","id":"a","data":{"name":"n"}}"#
    }

    /// A backend whose map is in a file, and what writes another one there.
    private func with(_ body: (TestBackend, (String) throws -> Void) async throws -> Void) async throws {
        let folder = try TemporaryDirectory(prefix: "reload-")
        defer { folder.remove() }
        let file = folder.path + "/map.yaml"
        func write(_ map: String) throws { try map.write(toFile: file, atomically: true, encoding: .utf8) }
        try write(Self.one)
        try await TestBackend.with(schema: Self.schema, { $0.tables = .file(file) }) { backend in
            try await body(backend, write)
        }
    }

    @Test func anotherMapCountsFromThenOn() async throws {
        try await with { backend, write in
            #expect(try await backend.apply(Self.put("notes")) == "UNKNOWN_TABLE")
            try write(Self.both)
            #expect(try await backend.apply(Self.put("notes")) == "UNKNOWN_TABLE", "nobody has said so")
            await backend.backend.reload()
            #expect(try await backend.apply(Self.put("notes")) == "applied")
            try write(Self.one)
            await backend.backend.reload()
            #expect(try await backend.apply(Self.put("lists")) == "applied")
            let gone = try await backend.upload("{\"batch\":[\(Self.put("notes"))]}")
            #expect(gone.status == 503, "what was there may come back, as in a migration")
        }
    }

    /// As a start does.
    @Test func whatAnotherMapOpensIsSaid() async throws {
        try await with { backend, write in
            let owned = "tables:\n  lists: { owner: name }\n"
            for (map, isTold) in [(owned, false), (Self.one, true)] {
                try write(map)
                backend.lines.withLock { $0 = [] }
                await backend.backend.reload()
                let lines = backend.lines.withLock { $0 }
                #expect(lines.contains { $0.contains("the table map was read again") })
                let words = "lists has no owner: every user writes every row of it"
                #expect(lines.contains { $0.contains(words) } == isTold, "\(lines)")
            }
        }
    }

    private static let wrongMaps: [(String, String)] = [
        ("tables:\n  notes: { owners: x }\n", "line 2, column"),
        ("tables:\n  notes: {}\n  nosuch: {}\n", "line 3, column"),
        ("tables:\n  notes: { owner: nosuch }\n", "line 2, column"), ("tables: [", "line"), ("", "is empty"),
    ]

    /// By itself, or against the database.
    @Test(arguments: ReloadTests.wrongMaps)
    func aWrongMapLeavesTheFormer(map: String, place: String) async throws {
        try await with { backend, write in
            try write(map)
            await backend.backend.reload()
            let told = backend.lines.withLock { $0 }.first { $0.contains("the table map is not taken") }
            #expect(told?.contains(place) == true, "\(told ?? "nothing")")
            #expect(try await backend.apply(Self.put("lists")) == "applied")
            #expect(try await backend.apply(Self.put("notes")) == "UNKNOWN_TABLE")
        }
    }

    @Test func givenKeysAreReadAgainAndWrongOnesAreNot() async throws {
        let (first, second) = (try KeysFixture.key(), try KeysFixture.key())
        let text = try KeysFixture.text(first)
        try await TestBackend.with({ $0.keys = .given(GivenKeys(privateText: text)) }) { backend in
            let former = try await backend.token()
            func status(_ token: String) async throws -> Int {
                try await backend.send(
                    "POST", "/api/data", "{\"batch\":[]}", fields: ["authorization": "Bearer \(token)"]
                ).status
            }
            await backend.backend.reload(given: GivenKeys(privateText: "no key"))
            #expect(try await status(former) == 200)
            #expect(backend.lines.withLock { $0.contains { $0.contains("the keys are not taken") } })
            await backend.backend.reload(given: GivenKeys(privateText: try KeysFixture.text(second)))
            let published = try await backend.send("GET", "/api/auth/keys").json["keys"]?.arrayValue ?? []
            #expect(published.map { $0["kid"]?.stringValue } == [second.kid])
            #expect(try await status(former) == 401)
            #expect(try await status(try await backend.token()) == 200)
        }
    }

    @Test func aSecretOfSessionsIsReadAgainAndAWrongOneIsNot() async throws {
        let former = try SignIn.sessionSettings()
        try await TestBackend.with({ $0.authentication.session = former }) { backend in
            func status(_ secret: String) async throws -> Int {
                let token = try SignIn.session(secret: secret)
                return try await backend.send(
                    "GET", "/api/auth/token", fields: ["authorization": "Bearer \(token)"]
                ).status
            }
            let (second, third) = (String(repeating: "s", count: 32), String(repeating: "t", count: 32))
            let found = try await status(SignIn.secret)
            #expect(found == 200)
            var session = former
            session.secret = Array(second.utf8)
            await backend.backend.reload(session: session)
            let found2 = try await status(SignIn.secret)
            #expect(found2 == 401)
            let found3 = try await status(second)
            #expect(found3 == 200)
            session.secret = []
            await backend.backend.reload(session: session)
            let found4 = try await status(second)
            #expect(found4 == 200)
            let found5 = try await status(third)
            #expect(found5 == 401)
        }
    }

    /// Each by the name of what is wrong.
    @Test func whatStaysIsTold() async throws {
        let keys = try KeysFixture.text(try KeysFixture.key())
        let session = try SignIn.sessionSettings()
        try await TestBackend.with({
            $0.keys = .given(GivenKeys(privateText: keys))
            $0.authentication.session = session
        }) { backend in
            let (signals, hangUps) = AsyncStream.makeStream(of: Int32.self)
            let told = Lock<[String: String]>([:])
            let environment = [
                "POWERSYNC_PRIVATE_KEY": keys, "POWERSYNC_PUBLIC_KEY_FILE": "/public",
                "SESSION_SECRET_FILE": "/secret",
                "SESSION_ISSUER": SignIn.issuer, "SESSION_AUDIENCE": "app",
            ]
            let reload = ReloadLoop(
                backend.backend, signals, environment: environment,
                readFile: { path in
                    if path == "/public" { throw CocoaError(.fileReadNoSuchFile) }
                    return "too short"
                }, complain: { what, problem in told.withLock { $0[what] = problem } })
            hangUps.yield(SIGHUP)
            hangUps.finish()
            await reload.run()
            let complaints = told.withLock { $0 }
            #expect(
                complaints == [
                    "the keys are not taken: the former ones stay":
                        "POWERSYNC_PUBLIC_KEY_FILE cannot be read: /public",
                    "the secret of session tokens is not taken: the former one stays":
                        "SESSION_SECRET must have 32 bytes or more, as it stands",
                ])
        }
    }

    /// The signal of a program without a terminal, which goes on.
    @Test func aHangUpHasTheMapReadAgain() async throws {
        let folder = try TemporaryDirectory(prefix: "hang-up-")
        defer { folder.remove() }
        try await BackendProcess.with(schema: Self.schema, map: Self.one, in: folder.path) { process, _ in
            let client = try JSONClient("http://127.0.0.1:\(process.port)")
            let minted = try await client.send("GET", "/api/auth/token?user_id=u1").json["token"]?.stringValue
            let token = try #require(minted)
            func upload() async throws -> String? {
                try await client.send("POST", "/api/data", "{\"batch\":[\(Self.put("notes"))]}", token: token)
                    .json[
                        "results"]?.arrayValue?.first?["status"]?.stringValue
            }
            #expect(try await upload() == "fatal_error")
            try Self.both.write(toFile: folder.path + "/map.yaml", atomically: true, encoding: .utf8)
            kill(process.id, SIGHUP)
            try await wait(for: "the other map", read: { try await upload() }, until: { $0 == "success" })
        }
    }
}
