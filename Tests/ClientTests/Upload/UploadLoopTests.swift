import Foundation
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// The whole way of local changes, from the queue through the upload loop and `BackendConnector`, to a backend that does
/// what the test says: every change arrives at least once and in order, and none is lost.
///
/// With a backend of this package, whose ledger makes that once in effect, `UploadLedgerTests` does the same.
/// `POWERSYNC_UPLOAD_ENTRIES` says how many changes go through random failures.
@Suite(.patient(), .namesSeed)
struct UploadLoopTests {
    /// A backend's memory: what it got, and what it made of that, where it knows each change by its number.
    private final class Ledger: Sendable {
        private struct State {
            var uploads = 0
            var received: [Int64] = []
            var known: Set<Int64> = []
            var applied: [Int64] = []
        }

        private let state = Lock(State())

        /// How many uploads there were.
        var uploads: Int { state.withLock { $0.uploads } }
        /// The changes in the order in which each came first.
        var firstReceived: [Int64] {
            state.withLock { state in
                var seen: Set<Int64> = []
                return state.received.filter { seen.insert($0).inserted }
            }
        }
        /// The changes that were applied, in their order.
        var applied: [Int64] { state.withLock { $0.applied } }

        /// Notes an upload; returns its number, from 1.
        @discardableResult func receive(_ request: UploadRequest) -> Int {
            state.withLock { state in
                state.uploads += 1
                state.received += request.transactions.flatMap(\.operations).compactMap(\.opID)
                return state.uploads
            }
        }

        /// Applies what is new of an upload.
        func apply(_ request: UploadRequest) {
            state.withLock { state in
                for id in request.transactions.flatMap(\.operations).compactMap(\.opID)
                where state.known.insert(id).inserted {
                    state.applied.append(id)
                }
            }
        }
    }

    /// Writes users in one transaction.
    private func write(_ bench: ConnectedBench, _ ids: [String]) async throws {
        try await bench.database.writeTransaction { transaction in
            for id in ids {
                try transaction.execute(
                    sql: "INSERT INTO users (id, name) VALUES (?, 'A')", parameters: [id])
            }
        }
    }

    private func queued(_ bench: ConnectedBench) async throws -> Int {
        try await bench.database.get("SELECT count(*) FROM ps_crud") { try $0.getInt(index: 0) }
    }

    /// Lets every pause pass until nothing waits for its upload.
    private func drain(_ bench: ConnectedBench, _ clock: SteppedClock) async throws {
        while true {
            let seen = try await wait(
                for: "a pause, or the end of the queue",
                read: { (queued: try await queued(bench), pauses: clock.waiting) },
                until: { $0.queued == 0 || !$0.pauses.isEmpty })
            if seen.queued == 0 { return }
            clock.advance(by: seen.pauses[0])
        }
    }

    private func target(_ bench: ConnectedBench) async throws -> Int64? {
        try await bench.database.getOptional(
            "SELECT value FROM ps_kv WHERE key = 'target_checkpoint_request_id'"
        ) { try $0.getInt64(index: 0) }
    }

    private func connector(_ backend: ScriptedBackend, _ clock: SteppedClock) -> BackendConnector {
        BackendConnector(
            url: "https://backend.test", access: .developmentUser("alice"), environment: clock.environment,
            send: { try await backend.send($0) })
    }

    // MARK: Another user

    @Test func whatIsCompletedBehindAClearingHoldsUpNobody() async throws {
        let bench = try ConnectedBench()
        try await write(bench, ["mine"])
        let transaction = try #require(try await bench.database.getNextCrudTransaction())
        try await bench.database.disconnectAndClear()
        try await transaction.complete(writeCheckpoint: "123")
        #expect(try await target(bench) == nil)
        try await bench.connect()
        try await bench.stream().send(
            SyncLines.checkpoint(1, [.init("b", checksum: 5)]),
            SyncLines.data(
                "b", SyncLines.put(1, "u", checksum: 5, type: "users", data: #"{"name":"synced"}"#)),
            SyncLines.complete(1))
        try await wait(for: "what the next user is sent") { try await bench.users() == ["synced"] }
        try await bench.database.close()
    }

    // MARK: Each failure once

    /// What goes wrong with the uploads, one after the other.
    private static func answer(_ number: Int, _ request: UploadRequest, _ ledger: Ledger) throws
        -> HTTPClientResponse
    {
        switch number {
        case 1: return .status(500)
        case 2: return .json(#"{"code":"OVERLOADED"}"#, status: 503, ["Retry-After": "7"])
        case 3: throw HTTPClientError(.timedOut, "no answer in time")
        // The first time at once, the second time after the delay.
        case 4, 5: throw HTTPClientError(.silent, "nothing came")
        // The token is renewed once, and refused again.
        case 6, 7: return .status(401)
        case 8: return .status(413)
        // The backend has them, and the client never hears that.
        case 9:
            ledger.apply(request)
            throw HTTPClientError(.cut, "the connection broke")
        // One is done, the others are wanted again.
        case 10:
            var first = request
            first.transactions.removeLast(request.transactions.count - 1)
            ledger.apply(first)
            return .results(#"{"status":"success"}"#, #"{"status":"retryable_error"}"#)
        case 11: return .status(502)
        default:
            ledger.apply(request)
            return .accepting(request)
        }
    }

    @Test func whateverGoesWrongEachChangeArrivesInOrderAndNoneIsLost() async throws {
        let clock = SteppedClock()
        let ledger = Ledger()
        let backend = ScriptedBackend { _, request in
            try Self.answer(ledger.receive(request), request, ledger)
        }
        let database = Lock<LocalDatabase?>(nil)
        let requests = Lock(0)
        let service = ScriptedTransport(answers: [.writeCheckpoint(1), .writeCheckpoint(2)]) {
            // While the first request for a write checkpoint is on its way the app writes on.
            let isFirst = requests.withLock { requests in
                requests += 1
                return requests == 1
            }
            guard isFirst, let database = database.withLock({ $0 }) else { return }
            try await database.execute("INSERT INTO users (id, name) VALUES ('late', 'A')")
        }
        let bench = try ConnectedBench(transport: service, environment: clock.environment)
        database.withLock { $0 = bench.database }
        defer { database.withLock { $0 = nil } }
        for number in 1...4 { try await write(bench, ["u\(number)", "v\(number)"]) }
        try await bench.database.connect(connector: connector(backend, clock), options: ConnectOptions())
        _ = try await bench.stream()
        try await drain(bench, clock)
        try await wait(
            for: "the write checkpoint of the last change", read: { try await target(bench) },
            until: { $0 == 2 })
        #expect(try await queued(bench) == 0)
        #expect(ledger.uploads > 11)
        #expect(ledger.firstReceived == Array(1...9))
        #expect(ledger.applied == Array(1...9))
        #expect(requests.withLock { $0 } == 2)
        #expect(backend.mostTokensInFlight == 1)
        try await wait(for: "the error to go") { bench.status.uploadError == nil }
        try await bench.database.close()
    }

    /// From the error of the connector to the loop: after a silence the connection is most likely to blame.
    @Test func aSilentUploadIsRepeatedThoughNobodyMovesTheClock() async throws {
        let clock = SteppedClock()
        let backend = ScriptedBackend { number, request in
            guard number > 1 else { throw HTTPClientError(.silent, "nothing came") }
            return .accepting(request)
        }
        let bench = try ConnectedBench(environment: clock.environment)
        try await bench.database.execute("INSERT INTO users (id, name) VALUES ('u', 'A')")
        try await bench.database.connect(connector: connector(backend, clock), options: ConnectOptions())
        _ = try await bench.stream()
        try await wait(for: "the end of the queue") { try await queued(bench) == 0 }
        #expect(backend.uploads.count == 2)
        #expect(clock.now == .zero)
        try await bench.database.close()
    }

    // MARK: A cut at every byte

    /// An answer as the backend of this package sends it.
    private static func bytes(_ json: JSON) -> [UInt8] {
        let response = HTTPResponse(
            status: 200, fields: ["content-type": "application/json"], body: .bytes(json.utf8))
        return HTTPResponseEncoder.head(
            response, framing: .length(json.utf8.count), to: nil, keepsAlive: true,
            date: HTTPDate.text(1_740_823_200)) + json.utf8
    }

    @Test func anAnswerThatIsCutAtAnyByteLosesNothing() async throws {
        let clock = SteppedClock()
        let ledger = Ledger()
        let longest = Lock(0)
        let server = try RawServer { connection in
            while let request = connection.request() {
                guard request.hasPrefix("POST /api/data ") else {
                    connection.send(
                        Self.bytes(
                            .object([
                                JSONMember("token", .string("t")),
                                JSONMember("powersync_url", .string("https://service.test")),
                            ])))
                    continue
                }
                // One that cannot be read gets no answer, and the test ends with that.
                guard let body = request.components(separatedBy: "\r\n\r\n").last,
                    let upload = try? UploadRequest(json: JSON.parse(body))
                else { return }
                let results = upload.transactions.map { transaction in
                    UploadResult(
                        status: .success, txID: transaction.id,
                        operations: transaction.operations.enumerated().map {
                            UploadResult.Operation(index: $0, opID: $1.opID, status: "applied")
                        })
                }
                let answer = Self.bytes(UploadResponse(requestID: "r", results: results).json)
                longest.withLock { $0 = answer.count }
                // The first upload is not answered at all, each one after it with one byte more.
                let part = ledger.receive(upload) - 1
                ledger.apply(upload)
                connection.send(Array(answer.prefix(part)))
                if part < answer.count { return }
            }
        }
        let bench = try ConnectedBench(environment: clock.environment)
        try await write(bench, ["u", "v"])
        try await bench.database.connect(
            connector: BackendConnector(url: server.url(), user: "alice"), options: ConnectOptions())
        _ = try await bench.stream()
        try await drain(bench, clock)
        // Neither less than the whole answer was taken for one, nor was the whole one missed.
        #expect(longest.withLock { $0 } > 200)
        #expect(server.connections >= longest.withLock { $0 })
        #expect(ledger.uploads == longest.withLock { $0 } + 1)
        #expect(ledger.firstReceived == [1, 2])
        #expect(ledger.applied == [1, 2])
        try await wait(for: "the error to go") { bench.status.uploadError == nil }
        try await bench.database.close()
    }

    // MARK: Many

    @Test func manyChangesArriveInOrderThroughRandomFailures() async throws {
        let count = TestOptions.number("POWERSYNC_UPLOAD_ENTRIES", standard: 10_000)
        try await forEachSeed(2) { random in
            let clock = SteppedClock()
            let ledger = Ledger()
            let chance = Lock(random)
            let backend = ScriptedBackend { _, request in
                ledger.receive(request)
                let fault = chance.withLock { $0.below(12) }
                // An answer may be lost before the backend has done anything, or behind that.
                if fault >= 6 || fault == 0 { ledger.apply(request) }
                switch fault {
                case 0: throw HTTPClientError(.cut, "the connection broke")
                case 1: return .status(503, ["Retry-After": "3"])
                case 2: throw HTTPClientError(.silent, "nothing came")
                case 3: return .status(401)
                case 4: throw HTTPClientError(.timedOut, "no answer in time")
                case 5: return .status(413)
                default: return .accepting(request)
                }
            }
            let bench = try ConnectedBench(environment: clock.environment)
            try await bench.database.execute(
                sql: """
                    INSERT INTO ps_crud (tx_id, data)
                    WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ?1)
                    SELECT (i + 39) / 40, '{"op":"DELETE","type":"users","id":"' || i || '"}' FROM numbers
                    """, parameters: [count])
            try await bench.database.connect(
                connector: connector(backend, clock), options: ConnectOptions())
            _ = try await bench.stream()
            try await drain(bench, clock)
            #expect(ledger.firstReceived == (1...count).map { Int64($0) })
            #expect(ledger.applied == (1...count).map { Int64($0) })
            try await bench.database.close()
        }
    }
}
