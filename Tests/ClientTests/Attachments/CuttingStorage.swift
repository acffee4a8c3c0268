import PowerSyncHTTP
import PowerSyncSystem
import PowerSyncTestSupport

/// A storage that takes parts of files, and hangs up once it has had so many bytes of them.
final class CuttingStorage: Sendable {
    private struct State {
        /// How many bytes it takes before it hangs up; nil for all.
        var left: Int?
        var received = 0
        var parts: [Int: [UInt8]] = [:]
    }

    private let state: Lock<State>
    private let server: RawServer

    /// Starts a storage.
    ///
    /// - Parameter limit: after how many bytes of bodies it hangs up, once.
    /// - Throws: `SystemError`.
    init(cuttingAfter limit: Int) throws {
        let state = Lock(State(left: limit))
        self.state = state
        server = try RawServer { connection in
            while let (part, body) = CuttingStorage.request(connection, state) {
                state.withLock { $0.parts[part] = body }
                guard connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") else { return }
            }
        }
    }

    /// Its base address.
    var url: String { "http://127.0.0.1:\(server.port)" }
    /// The parts that came as a whole.
    var parts: [Int: [UInt8]] { state.withLock { $0.parts } }
    /// How many bytes of bodies came, those of parts that were cut among them.
    var received: Int { state.withLock { $0.received } }

    /// Reads a request; nil at the end of the connection, and where it is to hang up.
    private static func request(_ connection: RawConnection, _ state: Lock<State>) -> (Int, [UInt8])? {
        var bytes: [UInt8] = []
        var end: Int?
        while end == nil {
            guard let more = connection.receive() else { return nil }
            bytes += more
            end = bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound
        }
        let lines = String(decoding: bytes[..<(end ?? 0)], as: UTF8.self).split(separator: "\r\n")
        let words = lines[0].split(separator: " ")
        let target = HTTPRequest(method: String(words[0]), target: String(words[1]))
        let length = lines.first { $0.lowercased().hasPrefix("content-length: ") }
            .flatMap { Int($0.dropFirst("content-length: ".count)) }
        guard let part = target.queryValue("part").flatMap({ Int($0) }), let length else { return nil }
        var body = Array(bytes[(end ?? 0)...])
        guard take(body.count, state) else { return nil }
        while body.count < length {
            guard let more = connection.receive(), take(more.count, state) else { return nil }
            body += more
        }
        return (part, body)
    }

    /// Counts bytes; false where it is to hang up.
    private static func take(_ count: Int, _ state: Lock<State>) -> Bool {
        state.withLock { state in
            state.received += count
            guard let left = state.left else { return true }
            state.left = left > count ? left - count : nil
            return left > count
        }
    }
}
