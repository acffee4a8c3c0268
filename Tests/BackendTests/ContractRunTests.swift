import PowerSyncContractCases
import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// The contract, asked of backends that are right, wrong and worse.
@Suite(.patient())
struct ContractRunTests {
    /// A backend that answers every upload with the same text, and what has come.
    private struct Peer: Sendable {
        let target: ContractTarget
        let bodies: Lock<[JSON]>
        let oracle: Oracle
    }

    /// A database of rows by table and id; an upload makes what `writes` says of them.
    private final class Oracle: ContractOracle {
        let rows = Lock<[String: [String: JSON]]>([:])
        let letters = Lock<Int?>(0)

        func row(_ table: String, _ id: String) async throws -> [String: JSON]? {
            rows.withLock { $0[table + " " + id] }
        }

        func letters(of user: String) async throws -> Int? { letters.withLock { $0 } }
    }

    private func withPeer(
        status: Int = 200,
        answer: String = #"{"results":[{"status":"success","ops":[{"i":0,"status":"applied"}]}]}"#,
        profile: ContractProfile = .l2, onUpload: @escaping @Sendable (Oracle) -> Void = { _ in },
        _ body: (Peer) async throws -> Void
    ) async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let server = try HTTPServer(configuration: HTTPServerConfiguration(name: "a backend"), poller: poller)
        let (bodies, oracle) = (Lock<[JSON]>([]), Oracle())
        let fixtures = try ContractFixtures(
            yaml: "tables: {lists: {name: app_lists, columns: {name: title}}}", source: "F.yaml")
        let users = [
            "alice": TokenSource(subject: "u1") { "token" }, "bob": TokenSource(subject: "u2") { "token" },
        ]
        let target = ContractTarget(
            url: "http://127.0.0.1:\(server.port)", users: users, fixtures: fixtures, oracle: oracle,
            profile: profile, patience: TestOptions.patience)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await server.run { request, body in
                    guard request.path == "/api/data" else { return HTTPResponse(status: 404) }
                    let bytes = (try? await body.collect(limit: 1 << 20)) ?? []
                    // What is no JSON is for the test to see.
                    let json = (try? JSON.parse(bytes)) ?? .string(String(decoding: bytes, as: UTF8.self))
                    bodies.withLock { $0.append(json) }
                    onUpload(oracle)
                    return HTTPResponse(status: status, body: .bytes(Array(answer.utf8)))
                }
            }
            try await body(Peer(target: target, bodies: bodies, oracle: oracle))
            server.stop(grace: .zero)
            group.cancelAll()
        }
    }

    /// The verdict about a case of this level with these members.
    private func verdict(_ peer: Peer, level: String = "L2", _ members: String) async throws
        -> ContractVerdict
    {
        let yaml = "- {number: 1, title: t, level: \(level), severity: must, needs: [lists], \(members)}"
        let catalogue = try ContractCatalogue(files: [("T.yaml", yaml)])
        return await ContractRun(peer.target, catalogue).run(try #require(CaseNumber("1")))
    }

    private static let put = #"request: {transactions: [[{op: PUT, table: lists, id: a, data: {name: n}}]]}"#
    private static let applied = "\(put), expect: {status: [200], outcomes: [applied], results: [success]}"

    @Test func whatIsAnsweredAndStoredAsItMustBePasses() async throws {
        try await withPeer(onUpload: { oracle in
            oracle.rows.withLock { $0["lists a"] = ["name": .string("n"), "at": .null] }
        }) { peer in
            let verdict = try await verdict(
                peer, "\(Self.applied), read: [{table: lists, id: a, row: {name: n, at: null}}]")
            #expect(verdict == .passed)
        }
    }

    @Test(arguments: [
        #"{table: lists, id: a, row: {name: other}}"#, #"{table: lists, id: a, row: null}"#,
        #"{table: lists, id: b, row: {}}"#, #"{table: lists, id: a, row: {nothing: null}}"#,
        #"{table: lists, id: a, unchanged: true}"#, #"{table: lists, id: a, row: {}, untouched: [name]}"#,
        #"{letters: 1}"#,
    ])
    func whatIsAcceptedAndStoredOtherwiseIsUnsafe(reading: String) async throws {
        try await withPeer(onUpload: { oracle in
            oracle.rows.withLock { $0["lists a"] = ["name": .string("n")] }
        }) { peer in
            let verdict = try await verdict(peer, "\(Self.applied), read: [\(reading)]")
            guard case .unsafe = verdict else {
                Issue.record("\(verdict)")
                return
            }
        }
    }

    @Test(arguments: [
        "expect: {status: [400]}", "expect: {status: [200], outcomes: [noop]}",
        "expect: {status: [200], outcomes: [applied, applied]}",
        "expect: {status: [200], results: [fatal_error]}",
        "expect: {status: [200], body: {message: '*'}}", "expect: {status: [200], body: {results: []}}",
        "expect: {status: [200], headers: {allow: '*'}}", "expect: {status: [200], never: [applied]}",
    ])
    func whatIsAnsweredOtherwiseFails(expectation: String) async throws {
        try await withPeer { peer in
            let verdict = try await verdict(peer, "\(Self.put), \(expectation)")
            guard case .failed(let why) = verdict else {
                Issue.record("\(verdict)")
                return
            }
            #expect(why.hasPrefix("request 1: "))
        }
    }

    @Test func whatIsRefusedAndStoredAllTheSameFails() async throws {
        try await withPeer(
            status: 400, answer: "{}",
            onUpload: { oracle in
                oracle.rows.withLock { $0["lists a"] = [:] }
            }
        ) { peer in
            let verdict = try await verdict(
                peer, "\(Self.put), expect: {status: [400]}, read: [{table: lists, id: a, row: null}]")
            #expect(verdict == .failed("there is a row lists a"))
        }
    }

    @Test func whatNobodyCanSeeIsNotApplicable() async throws {
        try await withPeer(profile: .l1) { peer in
            #expect(try await verdict(peer, Self.applied) == .notApplicable("level L2"))
            let catalogue = try ContractCatalogue(files: [
                (
                    "T.yaml",
                    "- {number: 1, title: t, level: L0, severity: must, needs: [docs], request: {}, expect: {status: [200]}}"
                )
            ])
            let number = try #require(CaseNumber("1"))
            #expect(await ContractRun(peer.target, catalogue).run(number) == .notApplicable("no docs"))
            peer.oracle.letters.withLock { $0 = nil }
            let verdict = try await verdict(peer, level: "L1", "\(Self.applied), read: [{letters: 0}]")
            #expect(verdict == .notApplicable("nobody can count dead letters"))
        }
    }

    /// What the profile does not promise is not asked for: in dialect A of a legacy backend there is no result at all.
    @Test func aLegacyBackendIsAskedForStatusAndRowsAlone() async throws {
        try await withPeer(answer: "{}", profile: .l0) { peer in
            let found = try await verdict(peer, level: "L0", Self.applied)
            #expect(found == .passed)
        }
    }

    @Test func eachLevelHasItsDialect() async throws {
        try await withPeer { peer in
            for level in ["L0", "L1", "L2"] { _ = try await verdict(peer, level: level, Self.applied) }
            let operation = #"{"op":"PUT","table":"app_lists","id":"a","data":{"title":"n"}"#
            let bodies = peer.bodies.withLock { $0 }
            try #require(bodies.count == 3)
            #expect(bodies[0].text == #"{"batch":[\#(operation)}]}"#)
            #expect(bodies[1].text == #"{"transactions":[{"crud":[\#(operation)}]}]}"#)
            let client = try #require(bodies[2]["client_id"]?.stringValue)
            #expect(
                bodies[2].text
                    == #"{"transactions":[{"tx_id":1,"crud":[\#(operation),"op_id":1}]}],"v":1,"client_id":"\#(client)"}"#
            )
        }
    }

    @Test func whatAnAnswerHoldsStandsInTheNextRequest() async throws {
        try await withPeer(answer: #"{"results":[{"status":"fatal_error","rejection_id":"r7"}]}"#) { peer in
            let verdict = try await verdict(
                peer,
                """
                requests: [{body: {n: 1}}, {body: {n: "${rejection}", me: "${me}"}}],
                  expect: {status: [200], body: {results: [{rejection_id: "${rejection}"}]}}
                """)
            #expect(verdict == .passed)
            let last = peer.bodies.withLock { $0.last }
            #expect(last?.text == #"{"n":"r7","me":"u1"}"#)
        }
    }

    @Test func theSameAgainIsTheSameBytes() async throws {
        try await withPeer { peer in
            let request = "request: {times: 3, transactions: [[{op: DELETE, table: lists, id: '${fresh}'}]]}"
            _ = try await verdict(peer, "\(request), expect: {status: [200]}")
            let bodies = peer.bodies.withLock { $0 }
            #expect(bodies.count == 3 && Set(bodies).count == 1)
        }
    }
}
