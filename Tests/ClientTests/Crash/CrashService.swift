import Foundation
import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncSystem
import PowerSyncWire

/// A service over HTTP whose every checkpoint changes all rows of two tables together.
///
/// All is arithmetic: operation n of a bucket belongs to version (n - 1) / ``operations`` + 1, so that a client may
/// go on anywhere. What a version superseded is one CLEAR for a client that stopped in its middle.
final class CrashService: Sendable {
    /// Operations of each bucket in each version.
    static let operations: Int64 = 24
    /// The bucket of `lefts` and `rights`, and the more urgent one of `urgents`.
    static let buckets = [(name: "urgent[]", priority: 1), (name: "both[]", priority: 3)]

    private struct State {
        var version: Int64 = 0
        var writeCheckpoint: Int64 = 0
        /// The checksums of the version before, and of this one.
        var sums: (before: UInt32, now: UInt32) = (0, 0)
    }

    private let state = Lock(State())
    private let server: HTTPServer

    init(poller: Poller) throws {
        server = try HTTPServer(configuration: HTTPServerConfiguration(name: "crash service"), poller: poller)
    }

    var endpoint: String { "http://127.0.0.1:\(server.port)" }

    func run() async { await server.run { await self.answer($0, $1) } }
    func stop() { server.stop(grace: .zero) }

    static func checksum(_ operation: Int64) -> UInt32 {
        UInt32(truncatingIfNeeded: operation &* 2_654_435_761) ^ 0x5bd1_e995
    }

    /// The sum over all operations up to one, which is what the checksums of a bucket at it come to.
    static func checksum(through operation: Int64) -> UInt32 {
        operation < 1 ? 0 : (1...operation).reduce(0) { $0 &+ checksum($1) }
    }

    private func answer(_ request: HTTPRequest, _ body: any HTTPRequestBody) async -> HTTPResponse {
        do {
            if request.path == "/sync/stream" {
                let request = try JSON.parse(try await body.collect(limit: 1 << 20))
                return HTTPResponse(
                    status: 200, fields: ["Content-Type": "application/x-ndjson"],
                    body: .stream { try await self.stream(request, to: $0) })
            }
            let id = state.withLock { state in
                state.writeCheckpoint += 1
                return state.writeCheckpoint
            }
            return HTTPResponse(
                status: 200, fields: ["Content-Type": "application/json"],
                body: .bytes(Array("{\"data\":{\"write_checkpoint\":\"\(id)\"}}".utf8)))
        } catch {
            return HTTPResponse(status: 400)
        }
    }

    private func stream(_ request: JSON, to writer: any HTTPBodyWriter) async throws {
        var positions: [String: Int64] = [:]
        for bucket in request["buckets"]?.arrayValue ?? [] {
            positions[bucket["name"]?.stringValue ?? ""] = bucket["after"]?.stringValue.flatMap(Int64.init)
        }
        var isFirst = true
        while true {
            let state = state.withLock { state in
                let last = state.version * Self.operations
                state.version += 1
                state.sums.before = state.sums.now
                for operation in last + 1...last + Self.operations {
                    state.sums.now &+= Self.checksum(operation)
                }
                return state
            }
            for part in Self.lines(state, isFirst: isFirst, after: { positions[$0] ?? 0 }) {
                try await writer.write(part)
            }
            for bucket in Self.buckets { positions[bucket.name] = state.version * Self.operations }
            isFirst = false
            // A pace, so that the client's own writes get their turn.
            try await Task.sleep(for: .milliseconds(3))
        }
    }

    /// The lines of one version, in pieces that cut lines.
    private static func lines(
        _ state: State, isFirst: Bool, after: (String) -> Int64
    ) -> [[UInt8]] {
        let last = state.version * operations
        let entries = buckets.map {
            """
            {"bucket":"\($0.name)","checksum":\(state.sums.now),"count":\(last),"priority":\($0.priority)}
            """
        }.joined(separator: ",")
        let target =
            state.writeCheckpoint > 0 ? "\"write_checkpoint\":\"\(state.writeCheckpoint)\"," : ""
        var lines: [String] = [
            isFirst
                ? "{\"checkpoint\":{\"last_op_id\":\"\(last)\",\(target)\"buckets\":[\(entries)],\"streams\":[]}}"
                : """
                {"checkpoint_diff":{"last_op_id":"\(last)",\(target)"updated_buckets":[\(entries)],\
                "removed_buckets":[]}}
                """
        ]
        for bucket in buckets {
            let start = last - operations
            var texts: [String] = []
            if after(bucket.name) < start {
                texts.append(
                    "{\"op_id\":\"\(start)\",\"op\":\"CLEAR\",\"checksum\":\(state.sums.before)}")
            }
            for operation in max(start, after(bucket.name)) + 1...last {
                texts.append(text(operation, of: bucket.name))
            }
            while !texts.isEmpty {
                let line = texts.prefix(5).joined(separator: ",")
                texts.removeFirst(min(5, texts.count))
                lines.append("{\"data\":{\"bucket\":\"\(bucket.name)\",\"data\":[\(line)]}}")
            }
            lines.append(
                bucket.priority == 3
                    ? "{\"checkpoint_complete\":{\"last_op_id\":\"\(last)\"}}"
                    : "{\"partial_checkpoint_complete\":{\"last_op_id\":\"\(last)\",\"priority\":1}}")
        }
        let bytes = Array(lines.map { $0 + "\n" }.joined().utf8)
        return stride(from: 0, to: bytes.count, by: 1000).map {
            Array(bytes[$0..<min($0 + 1000, bytes.count)])
        }
    }

    private static func text(_ operation: Int64, of bucket: String) -> String {
        let index = (operation - 1) % operations
        let version = (operation - 1) / operations + 1
        let type = bucket == "urgent[]" ? "urgents" : index % 2 == 0 ? "lefts" : "rights"
        return """
            {"op_id":"\(operation)","op":"PUT","object_type":"\(type)","object_id":"r\(index / 2 * 2)",\
            "subkey":"\(index)","checksum":\(checksum(operation)),"data":"{\\"version\\":\(version)}"}
            """
    }
}
