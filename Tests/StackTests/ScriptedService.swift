import PowerSyncHTTPClient
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport

/// A service that sends what a test wrote down, so that the steps of a scenario can meet one that is wrong.
///
/// A probe sees write checkpoint 9 at once, as if everything were published.
final class ScriptedService: ServiceUnderTest {
    /// What happens on the stream of a client behind the head of the answer; the connection closes at its end.
    typealias Script = @Sendable (ScriptedStream) -> Void

    /// What one service does.
    struct Plan: Sendable {
        /// The streams by the `client_id` of their request.
        var streams: [String: Script] = [:]
        /// The head of each stream.
        var head = String.chunkedHead
        /// Bodies of JSON by method and path, `GET /x`.
        var answers: [String: String] = [:]
        /// Whether the metrics have the gauge.
        var hasGauge = true
        /// Whether it counts as this program's own.
        var isOwn = true
        /// The transactions behind which it has ended.
        var transactionsToLive = Int.max
        /// Hears of each time that is asked for, from 1.
        var whenAskedForLife: @Sendable (Int) -> Void = { _ in }
    }

    /// What the transactions of the scenario open, the first one the first.
    private let transactions = [BlockingGate(), BlockingGate()]
    let isOwn: Bool

    private let plan: Plan
    private let client: HTTPClient
    private let server = Lock<RawServer?>(nil)
    private let done = Lock(0)
    private let asked = Lock(0)

    init(_ plan: Plan) throws {
        self.plan = plan
        isOwn = plan.isOwn
        client = try HTTPClient()
        let gates = transactions
        let listening = try RawServer { ScriptedService.serve($0, plan, gates) }
        server.withLock { $0 = listening }
    }

    /// Ends what waits.
    func close() {
        for gate in transactions { gate.open() }
        client.close()
        server.withLock { $0 = nil }
    }

    var access: ServiceAccess {
        let port = server.withLock { $0?.port } ?? 0
        return ServiceAccess(client: client, port: port, metricsPort: port)
    }

    var isRunning: Bool { true }
    var logEnd: String { "none" }

    func transact(_ statements: [String]) {
        let number = done.withLock { done in
            done += 1
            return done
        }
        transactions[number - 1].open()
    }

    func requireLife() throws {
        plan.whenAskedForLife(
            asked.withLock { asked in
                asked += 1
                return asked
            })
        if done.withLock({ $0 }) >= plan.transactionsToLive {
            throw StackError(.partEnded, "the service has ended by itself")
        }
    }

    func stop() {}
    func restart(_ newConfig: String?) {}
    func compact() -> String? { nil }

    private static func serve(_ connection: RawConnection, _ plan: Plan, _ transactions: [BlockingGate]) {
        while let request = connection.request() {
            let place = request.split(separator: "?")[0].split(separator: " ").prefix(2).joined(
                separator: " ")
            if place == "POST /sync/stream" {
                let name = plan.streams.keys.first { request.contains(#""client_id":"\#($0)""#) }
                connection.send(plan.head)
                let stream = ScriptedStream(connection: connection, transactions: transactions)
                return (name.flatMap { plan.streams[$0] } ?? Self.publish)(stream)
            }
            let text =
                switch place {
                case "GET /write-checkpoint2.json": #"{"data":{"write_checkpoint":"9"}}"#
                case "GET /metrics": plan.hasGauge ? "powersync_sessions_behind 0\n" : ""
                default: plan.answers[place] ?? ""
                }
            connection.send(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(text.utf8.count)\r\n\r\n"
                    + text)
        }
    }

    /// Tells a probe that everything is published.
    static func publish(_ stream: ScriptedStream) {
        stream.send([
            #"{"checkpoint":{"last_op_id":"1","write_checkpoint":"9","buckets":[],"streams":[]}}"#,
            #"{"checkpoint_complete":{"last_op_id":"1"}}"#,
        ])
        stream.hold()
    }
}

/// One stream that a script serves; its calls block the thread of the connection.
struct ScriptedStream {
    /// The connection, for what is no line.
    let connection: RawConnection
    /// What the transactions of the scenario open.
    let transactions: [BlockingGate]

    /// Sends lines.
    func send(_ lines: [String]) {
        for line in lines { connection.chunk(line + "\n") }
    }

    /// Sends a document of BSON.
    func send(_ document: [UInt8]) {
        connection.send(
            Array("\(String(document.count, radix: 16))\r\n".utf8) + document + Array("\r\n".utf8))
    }

    /// Ends the answer as HTTP wants it.
    func end() { connection.send("0\r\n\r\n") }

    /// Waits until the client hangs up.
    func hold() { connection.waitForHangUp() }
}
