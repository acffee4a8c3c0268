import Dispatch
import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// A service and a development backend in one: a stream says what the test lets it say, uploads are taken unless it says
/// otherwise.
final class ScriptedPeer: Sendable {
    /// One stream that a client has opened.
    final class Stream: Sendable {
        /// The request, with its body.
        let request: String
        private let lines = Lock<[String?]>([])
        private let count = DispatchSemaphore(value: 0)

        fileprivate init(_ request: String) { self.request = request }

        /// Sends lines to the client.
        func say(_ text: String...) { for line in text { add(line) } }

        /// Ends the stream as a service does that restarts.
        func end() { add(nil) }

        private func add(_ line: String?) {
            lines.withLock { $0.append(line) }
            count.signal()
        }

        /// Blocks until there is another line; nil for the end.
        fileprivate func next() -> String? {
            count.wait()
            return lines.withLock { $0.removeFirst() }
        }
    }

    private struct State {
        var streams: [Stream] = []
        var requests: [String] = []
    }

    /// The write checkpoint that every request for one is answered with.
    static let writeCheckpoint = 7

    private let state: Lock<State>
    private let server: RawServer

    /// - Parameter results: the results of an upload in their JSON, whose request it gets; nil where all is taken.
    /// - Throws: `SystemError`.
    init(results: @escaping @Sendable (_ request: String) -> String? = { _ in nil }) throws {
        let state = Lock(State())
        self.state = state
        server = try RawServer { connection in
            while let request = connection.request() {
                state.withLock { $0.requests.append(request) }
                guard request.hasPrefix("POST /sync/stream ") else {
                    connection.send(ScriptedPeer.answer(to: request, results))
                    continue
                }
                let stream = Stream(request)
                state.withLock { $0.streams.append(stream) }
                connection.send(String.chunkedHead)
                while let line = stream.next() { connection.chunk(line + "\n") }
                connection.send("0\r\n\r\n")
                return
            }
        }
    }

    deinit { for stream in state.withLock({ $0.streams }) { stream.end() } }

    /// The URL of both.
    var url: String { "http://127.0.0.1:\(server.port)" }

    /// The requests that begin with a text, so far.
    func requests(_ start: String) -> [String] {
        state.withLock { $0.requests.filter { $0.hasPrefix(start) } }
    }

    /// Waits for the stream that is opened as the so-manieth, counted from 1.
    func stream(_ number: Int = 1) async throws -> Stream {
        try await wait(
            for: "stream \(number)", read: { state.withLock { $0.streams } }, until: { $0.count >= number })[
                number - 1]
    }

    /// The results of an upload whose first transaction has a row with an id, which the backend never takes; it leaves
    /// that to the client, or not.
    static func refusing(_ id: String, isUndecided: Bool) -> @Sendable (_ request: String) -> String? {
        { request in
            guard request.contains("\"id\":\"\(id)\"") else { return nil }
            return """
                {"status":"fatal_error","requires_client_handling":\(isUndecided),"failed_operation":\
                {"operation_index":0,"error_code":"CHECK_VIOLATION","message":"must be positive",\
                "details":{"table":"items","id":"\(id)","constraint":"c"}},"rejection_id":"0190"}
                """
        }
    }

    private static func answer(
        to request: String, _ results: (_ request: String) -> String?
    ) -> String {
        let body: String
        if request.hasPrefix("POST /api/data ") {
            let count = request.components(separatedBy: "\"tx_id\"").count - 1
            let taken = Array(repeating: #"{"status":"success"}"#, count: count).joined(separator: ",")
            body = "{\"results\":[\(results(request) ?? taken)]}"
        } else if request.hasPrefix("GET /write-checkpoint2.json?") {
            body = "{\"data\":{\"write_checkpoint\":\"\(writeCheckpoint)\"}}"
        } else if request.hasPrefix("POST /sync/checkpoint-request ") {
            // The id that was asked for.
            let rest = request.components(separatedBy: #""checkpoint_request_id":""#).last ?? ""
            let id = rest.prefix { $0 != "\"" }
            body = "{\"data\":{\"checkpoint_request_id\":\"\(id)\"}}"
        } else {
            body = #"{"token":"t","powersync_url":"http://127.0.0.1:1"}"#
        }
        return
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    // MARK: Lines

    /// A checkpoint of one bucket with so many rows, all of checksum 1.
    static func checkpoint(_ rows: Int, writeCheckpoint: Int? = nil) -> String {
        let write = writeCheckpoint.map { "\"write_checkpoint\":\"\($0)\"," } ?? ""
        return """
            {"checkpoint":{"last_op_id":"\(rows)",\(write)"buckets":[{"bucket":"b","checksum":\(rows),"priority":3,\
            "count":\(rows),"subscriptions":[]}],"streams":[]}}
            """
    }

    /// The row with a number.
    static func row(_ number: Int) -> String {
        """
        {"data":{"bucket":"b","data":[{"op_id":"\(number)","op":"PUT","object_type":"items","object_id":"r\(number)",\
        "checksum":1,"subkey":null,"data":"{\\"name\\":\\"row \(number)\\"}"}]}}
        """
    }

    /// The end of a checkpoint.
    static func complete(_ rows: Int) -> String {
        "{\"checkpoint_complete\":{\"last_op_id\":\"\(rows)\"}}"
    }
}
