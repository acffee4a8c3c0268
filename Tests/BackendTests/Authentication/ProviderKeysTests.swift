import PowerSyncBackend
import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Keys of a provider as they are fetched (Backend/Authentication/SPEC.md).
@Suite(.patient())
struct ProviderKeysTests {
    private let key: JSONWebKey
    private let provider: FakeProvider
    private let time = ManualSeconds()
    private let lines = Lock<[String]>([])

    init() throws {
        key = try JSONWebKey.generate(.ES256)
        provider = FakeProvider([key])
    }

    private func keys(_ fetch: ProviderKeys.Fetch? = nil) -> ProviderKeys {
        let lines = lines
        return ProviderKeys(
            clock: time.clock, random: { 0 },
            log: Log(label: "test") { line in lines.withLock { $0.append(line) } },
            fetch: fetch ?? provider.fetch)
    }

    @Test func oneFetchIsForAllWhoWait() async throws {
        let keys = keys()
        let gate = provider.holdBack()
        try await withThrowingTaskGroup(of: [String?].self) { group in
            for _ in 0..<100 { group.addTask { try await keys.keys(for: key.kid).map(\.kid) } }
            try await wait(for: "all to wait", read: { time.sleepers }, until: { $0 == 100 })
            gate.open()
            for try await found in group { #expect(found == [key.kid]) }
        }
        #expect(provider.fetches == 1)
        #expect(try await keys.keys(for: key.kid).count == 1)
        #expect(provider.fetches == 1)
        #expect(await keys.generation == 1)
    }

    @Test func tenThousandNamesAreElevenFetches() async throws {
        let keys = keys()
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<10_000 {
                group.addTask { (try? await keys.keys(for: "random \(number)"))?.map(\.kid) == [key.kid] }
            }
            for await isAnswered in group { #expect(isAnswered) }
        }
        #expect((1...11).contains(provider.fetches))
        for number in 0..<10_000 { _ = try await keys.keys(for: "one by one \(number)") }
        #expect(provider.fetches == 11)
    }

    @Test func whoeverHasWaitedThreeSecondsIsToldToComeAgainAndTheFetchGoesOn() async throws {
        let keys = keys()
        let gate = provider.holdBack()
        let asked = Task { await refusalCode { _ = try await keys.keys(for: key.kid) } }
        try await wait(for: "somebody to wait") { time.sleepers == 1 && gate.arrivals == 1 }
        time.pass(2.9)
        #expect(time.sleepers == 1)
        time.pass(0.2)
        #expect(await asked.value == "KEYS_UNAVAILABLE")
        gate.open()
        try await wait(for: "the keys") { await keys.generation == 1 }
        #expect(try await keys.keys(for: key.kid).map(\.kid) == [key.kid])
        #expect(provider.fetches == 1)
    }

    @Test func aRequestThatIsCutShortWaitsNoLonger() async throws {
        let keys = keys()
        let gate = provider.holdBack()
        let asked = Task { await refusalCode { _ = try await keys.keys(for: key.kid) } }
        try await wait(for: "somebody to wait") { time.sleepers == 1 && gate.arrivals == 1 }
        asked.cancel()
        #expect(await asked.value == "KEYS_UNAVAILABLE")
        gate.open()
        try await wait(for: "the keys") { await keys.generation == 1 }
    }

    @Test func aFailureIsToldAndTriedAgainBehindARest() async throws {
        let keys = keys()
        provider.goDown()
        #expect(await refusalCode { _ = try await keys.keys(for: key.kid) } == "KEYS_UNAVAILABLE")
        #expect(await refusalCode { _ = try await keys.keys(for: key.kid) } == "KEYS_UNAVAILABLE")
        #expect(provider.fetches == 1)
        #expect(lines.withLock { $0.filter { $0.contains("cannot be fetched") }.count } == 1)
        provider.publish([key])
        time.pass(1)
        #expect(try await keys.keys(for: key.kid).count == 1)
    }

    @Test func keysGoOnWhileTheProviderIsDown() async throws {
        let keys = keys()
        _ = try await keys.keys(for: key.kid)
        provider.goDown()
        time.pass(3_500)
        #expect(try await keys.keys(for: key.kid).map(\.kid) == [key.kid])
        try await wait(for: "the fetch in the background") { provider.fetches == 2 }
        try await wait(for: "its failure") {
            await refusalCode { _ = try await keys.keys(for: "new") } == "KEYS_UNAVAILABLE"
        }
        #expect(await keys.generation == 1)
        time.pass(100)
        #expect(await keys.generation == 2, "they are over")
        #expect(await refusalCode { _ = try await keys.keys(for: key.kid) } == "KEYS_UNAVAILABLE")
    }

    // MARK: Documents

    @Test func onlyKeysByWhichNobodyElseCanSignAreKept() throws {
        let strong = try JSONWebKey.generate(.RS256)
        func changed(_ key: JSONWebKey, _ name: String, _ value: String) throws -> String {
            let members = (try JSON.parse(key.jsonObjectText(includePrivate: false)).objectMembers ?? [])
                .filter { $0.name != name }
            return JSON.object(members + [JSONMember(name, .string(value))]).text
        }
        let texts = [
            key.jsonObjectText(includePrivate: true), try changed(strong, "e", "AQ"),
            try changed(strong, "e", "Ag"), try changed(strong, "use", "enc"),
            try changed(
                try JSONWebKey.generate(.EdDSA), "x", Base64URL.encode([UInt8](repeating: 0, count: 32))),
            #"{"kty":"oct","k":"c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2Vj","kid":"s"}"#, #"{"kty":"new"}"#,
        ]
        let found = try ProviderKeys.keys(in: Array("{\"keys\":[\(texts.joined(separator: ","))]}".utf8))
        #expect(found.map(\.kid) == [key.kid] && found.allSatisfy { !$0.isPrivate })
    }

    @Test func aDocumentWithoutAGoodKeyIsAFailure() throws {
        let one = key.jsonObjectText(includePrivate: false)
        for text in [
            "", "<html>", "[]", "{}", #"{"keys":[]}"#, #"{"keys":1}"#, #"{"keys":[1]}"#,
            #"{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}"#,
            "{\"keys\":[\([String](repeating: one, count: 101).joined(separator: ","))]}",
        ] {
            #expect(thrown { try ProviderKeys.keys(in: Array(text.utf8)) } != nil, "\(text.prefix(40))")
        }
        let hundred = "{\"keys\":[\([String](repeating: one, count: 100).joined(separator: ","))]}"
        #expect(try ProviderKeys.keys(in: Array(hundred.utf8)).count == 100)
    }
}

/// The same over HTTP.
@Suite(.patient())
struct ProviderFetchTests {
    private let key: JSONWebKey

    init() throws { key = try JSONWebKey.generate(.ES256) }

    /// What a token of the key proves to a backend whose provider answers so.
    private func outcome(_ answers: [String]) async throws -> String {
        let left = Lock(answers)
        let heads = Lock<[String]>([])
        let server = try RawServer { connection in
            while let request = connection.request() {
                heads.withLock { $0.append(request) }
                let answer = left.withLock { $0.isEmpty ? nil : $0.removeFirst() }
                guard let answer, connection.send(answer), left.withLock({ !$0.isEmpty }) else { return }
            }
        }
        let poller = try Poller()
        defer { poller.stop() }
        var configuration = BackendConfiguration.development(powersyncURL: "http://sync")
        configuration.authentication.provider = try SignIn.providerSettings
        configuration.authentication.provider?.keysURL = server.url("/keys")
        let authentication = try Authentication.make(
            configuration, keys: try SigningKeys.ofThisRun(),
            environment: BackendEnvironment(now: { SignIn.now }), poller: poller,
            log: Log(label: "test") { _ in })
        let token = try SignIn.token(key, kid: key.kid)
        let code = await refusalCode {
            let principal = try await authentication.principal(
                of: HTTPRequest(
                    method: "GET", target: "/", fields: ["authorization": "Bearer \(token)"]), for: .token)
            #expect(principal.subject == "u1" && principal.kind == .provider)
        }
        withExtendedLifetime(server) {}
        #expect(heads.withLock { $0.map { $0.hasPrefix("GET /keys HTTP/1.1\r\n") } } == [true])
        return code
    }

    private func answer(_ status: String, _ body: String, _ fields: String = "") -> String {
        "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
    }

    @Test func theDocumentIsFetched() async throws {
        let document = String(decoding: SignIn.document([key]), as: UTF8.self)
        #expect(try await outcome([answer("200 OK", document)]) == "none")
    }

    @Test func whatIsNoAnswerIsAFailure() async throws {
        let document = String(decoding: SignIn.document([key]), as: UTF8.self)
        let large = document + String(repeating: " ", count: 256 << 10)
        for answer in [
            answer("500 Internal Server Error", document), answer("204 No Content", ""),
            answer("302 Found", "", "Location: /other\r\n"), answer("200 OK", large),
            "HTTP/1.1 200 OK\r\nConte",
        ] {
            #expect(try await outcome([answer]) == "KEYS_UNAVAILABLE", "\(answer.prefix(30))")
        }
    }
}
