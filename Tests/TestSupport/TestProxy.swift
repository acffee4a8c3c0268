import Foundation
import PowerSyncSystem

/// A proxy on 127.0.0.1 for requests with a whole address and for CONNECT (RFC 9110, 9.3.6); it keeps what it is asked.
///
/// Whatever host a request names, it goes to that port of this machine: one request a connection, with the field
/// `Via: 1.1 test` that no other way adds.
package final class TestProxy: Sendable {
    private let asked: Lock<[String]>
    private let server: RawServer

    /// The heads of the requests, in the order of their arrival.
    package var requests: [String] { asked.withLock { $0 } }

    /// The first lines of the requests, as `GET http://127.0.0.1:80/ HTTP/1.1`.
    package var lines: [String] { requests.map { $0.components(separatedBy: "\r\n")[0] } }

    /// Where it listens.
    package var port: Int { server.port }

    /// Starts a proxy.
    ///
    /// - Parameter login: Name and password, as `name:password`; nil for anybody.
    /// - Throws: `SystemError`.
    package init(login: String? = nil) throws {
        let asked = Lock<[String]>([])
        let wanted = login.map { "Basic " + Data($0.utf8).base64EncodedString() }
        self.asked = asked
        server = try RawServer { connection in
            guard let request = connection.request() else { return }
            let (head, body) = TestProxy.parts(request)
            asked.withLock { $0.append(head) }
            if let wanted, !head.contains("\r\nProxy-Authorization: \(wanted)") {
                connection.send(
                    "HTTP/1.1 407 Proxy Authentication Required\r\n"
                        + "Proxy-Authenticate: Basic realm=\"test\"\r\nContent-Length: 0\r\n"
                        + "Connection: close\r\n\r\n")
                return
            }
            TestProxy.pass(on: head, body, from: connection)
        }
    }

    /// Its URL, with what is given for name and password.
    package func url(login: String? = nil) -> String {
        "http://\(login.map { "\($0)@" } ?? "")127.0.0.1:\(port)"
    }

    private static func parts(_ request: String) -> (head: String, body: String) {
        let parts = request.components(separatedBy: "\r\n\r\n")
        return (parts[0], parts.dropFirst().joined(separator: "\r\n\r\n"))
    }

    private static func pass(on head: String, _ body: String, from connection: RawConnection) {
        var lines = head.components(separatedBy: "\r\n")
        let words = lines[0].components(separatedBy: " ")
        guard words.count == 3 else { return }
        if words[0] == "CONNECT" {
            guard let port = words[1].components(separatedBy: ":").last.flatMap({ Int($0) }) else { return }
            connection.send("HTTP/1.1 200 Connection established\r\n\r\n")
            connection.relay(to: port)
        } else if let url = URLComponents(string: words[1]), url.scheme == "http" {
            let query = url.percentEncodedQuery.map { "?\($0)" } ?? ""
            lines[0] = "\(words[0]) \(url.percentEncodedPath)\(query) \(words[2])"
            lines.removeAll { line in
                ["proxy-", "connection:"].contains { line.lowercased().hasPrefix($0) }
            }
            lines += ["Via: 1.1 test", "Connection: close"]
            let request = lines.joined(separator: "\r\n") + "\r\n\r\n" + body
            connection.relay(to: url.port ?? 80, sending: Array(request.utf8))
        }
    }
}
