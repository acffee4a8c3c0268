import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncHTTPTestSupport
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// How much memory uploads take together, and how long they wait for it (backend 1.8; 7, number 9).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct UploadMemoryTests {
    /// A body that holds up the row of a first operation, and many small values: a tree is much larger than they.
    private static func body(_ id: String, _ name: String) -> String {
        let values = String(repeating: "0,", count: 100_000) + "0"
        return #"{"batch":[{"op":"PUT","table":"lists","id":"\#(id)","data":{"name":"\#(name)"}},"#
            + #"{"op":"PUT","table":"todos","id":"\#(id)","data":{"tags":[\#(values)]}}]}"#
    }

    private static let slowRows = TestBackend.demoTables + TestBackend.gated(where: "NEW.name = 'slow'")
    private static let small = #"{"batch":[{"op":"PUT","table":"lists","id":"small","data":{"name":"n"}}]}"#

    /// Runs a test with a backend that has memory for one such body, while one is held up.
    private func withOneHeldUp(
        _ change: (inout BackendConfiguration) -> Void = { _ in },
        _ body: (TestBackend, UploadAdmission, JSONClient) async throws -> Void
    ) async throws {
        let slow = Self.body("s", "slow")
        let memory = try MeasuredBody(Array(slow.utf8)).memory
        // Room for bodies is no matter here.
        try #require(memory > 1 << 20 && memory / 2 > 4 * slow.utf8.count)
        try await TestBackend.with(
            schema: Self.slowRows,
            {
                $0.uploadMemory = 2 * memory
                change(&$0)
            }
        ) { backend in
            let client = try JSONClient("http://127.0.0.1:\(backend.backend.port)")
            let admission = try #require(backend.backend.admission)
            let gate = try await DatabaseGate(backend.uri, backend.poller)
            let token = try await backend.token("u1")
            async let first = client.send("POST", "/api/data", slow, token: token)
            try await gate.waitForArrivals()
            #expect(admission.memory.taken == memory)
            try await body(backend, admission, client)
            try await gate.open()
            #expect(try await first.status == 200)
        }
    }

    @Test func uploadsThatNeedMuchMemoryWaitForOneAnother() async throws {
        let next = Lock<Task<Int, any Error>?>(nil)
        try await withOneHeldUp { backend, admission, client in
            let token = try await backend.token("u2")
            next.withLock {
                $0 = Task {
                    try await client.send("POST", "/api/data", Self.body("r", "n"), token: token).status
                }
            }
            try await wait(for: "the next one to wait") { admission.memory.waiting == 1 }
            // A small one needs little and has a place in the pool.
            #expect(try await client.send("POST", "/api/data", Self.small, token: token).status == 200)
            #expect(try await backend.scalar("SELECT count(*) FROM lists WHERE id = 'r'") == "0")
            #expect(admission.memory.waiting == 1)
        }
        // The backend answers what has arrived before it stops.
        let status = try await next.withLock({ $0 })?.value
        #expect(status == 200)
    }

    /// A body that was held back for as long as an upload may wait.
    private struct HeldBackBody: HTTPRequestBody {
        let bytes: [UInt8]

        func collect(limit: Int) async throws(HTTPError) -> [UInt8] { bytes }

        func collect(limit: Int, patience: inout Duration) async throws(HTTPError) -> [UInt8] {
            patience = .zero
            return bytes
        }
    }

    /// Who has waited for one thing has less time for the next: else the waits of an upload added up to more than its
    /// client waits.
    @Test func oneTimeIsForAllWaits() async throws {
        try await withOneHeldUp({ $0.admissionTimeout = .seconds(3600) }) { backend, admission, _ in
            let fields: HTTPFields = [
                "authorization": "Bearer \(try await backend.token("u2"))",
                "content-type": "application/json",
            ]
            let request = HTTPRequest(method: "POST", target: "/api/data", fields: fields)
            let answer = await backend.backend.answer(
                request, HeldBackBody(bytes: Array(Self.body("r", "n").utf8)))
            #expect(answer.status == 503 && answer.fields["retry-after"] != nil)
            // What is there at once needs no time.
            let small = await backend.backend.answer(
                request, HeldBackBody(bytes: Array(Self.small.utf8))
            ).status
            #expect(small == 200)
            try await wait(for: "all but the first to have left") { admission.users == 1 }
        }
    }

    @Test func anAnswerThatNobodyTakesKeepsItsMemory() async throws {
        try await TestBackend.with { backend in
            let admission = try #require(backend.backend.admission)
            let operations = (1...30_000).map { #"{"op":"DELETE","table":"lists","id":"x","op_id":\#($0)}"# }
            let body = Array(
                #"{"v":1,"client_id":"c","transactions":[{"crud":[\#(operations.joined(separator: ","))]}]}"#
                    .utf8)
            let memory = try MeasuredBody(body).memory
            let client = try RawClient(backend.backend.port, backend.poller, receiveBuffer: 4 << 10)
            try await client.send(
                "POST /api/data HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                    + "Authorization: Bearer \(try await backend.token())\r\nContent-Length: \(body.count)\r\n\r\n"
            )
            try await client.send(body)
            try await wait(for: "the upload to be in work") { admission.memory.taken == memory }
            try await wait(for: "it to be answered") { admission.memory.taken != memory }
            let kept = admission.memory.taken
            let answer = try await client.response()
            #expect(answer.status == 200 && answer.body.utf8.count == kept)
            #expect(kept > 512 << 10, "less the system takes by itself")
            try await wait(for: "it to be free") { admission.memory.taken == 0 && admission.users == 0 }
        }
    }
}
