import PowerSync
import PowerSyncCompression
import PowerSyncTestSupport
import Testing

/// One way in which the service fails, and what the app is told of it.
struct ServiceFailure: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let code: PowerSyncError.Code
    /// How the text begins that a user sees; PORT stands for the service's.
    let text: String
    var httpStatus: Int?
    var scheme = "http"
    /// What the service does on each connection.
    let script: @Sendable (RawConnection) -> Void

    static let all: [ServiceFailure] = [
        status(401, .unauthorized, "The service does not accept the token"),
        status(403, .forbidden, "The service refuses access"),
        status(404, .notFound, "The service does not know the address"),
        status(400, .requestRefused, "The service refuses the request"),
        status(429, .serviceUnavailable, "The service cannot answer now"),
        status(503, .serviceUnavailable, "The service cannot answer now"),
        ServiceFailure(
            testDescription: "a page instead of lines", code: .protocolViolation,
            text: """
                The service sent what this client does not understand: \
                Invalid sync lines response: expected application/x-ndjson, got text/html
                """
        ) { connection in
            guard connection.request() != nil else { return }
            connection.send(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret"
            )
        },
        stream(
            "a line that is no JSON", .protocolViolation,
            "The service sent what this client does not understand: invalid text line: ",
            lines: ["secret, no JSON"]),
        stream(
            "a checkpoint that is none", .protocolViolation,
            "The service sent what this client does not understand: invalid text line: ",
            lines: [#"{"checkpoint":{"last_op_id":"secret","buckets":[]}}"#]),
        stream(
            "lines in the wrong order", .protocolViolation,
            """
            The service sent what this client does not understand: \
            Received checkpoint complete without previous checkpoint
            """,
            lines: [SyncLines.partial(1)]),
        stream(
            "data that does not match its checksums", .checksumMismatch,
            "The downloaded data does not match its checksums",
            lines: [
                SyncLines.checkpoint(1, [.init("of[secret-user]", checksum: 6)]),
                SyncLines.data(
                    "of[secret-user]",
                    SyncLines.put(1, "u", checksum: 5, type: "users", data: #"{"name":"secret"}"#)),
                SyncLines.complete(1),
            ]),
        ServiceFailure(
            testDescription: "a stream that is cut", code: .connectionCut,
            text: "The connection to the service broke: "
        ) { connection in
            guard connection.request() != nil else { return }
            connection.send(String.chunkedHead)
            connection.chunk(#"{"checkpoint":{"secret"#)
        },
        compressed(
            "a compression that nobody asked for", "br", [1, 2, 3],
            "The answer is compressed as br, which was not asked for"),
        compressed(
            "a compressed stream that is damaged", "zstd", Array("secret".utf8),
            "The answer cannot be decompressed"),
        compressed(
            "a compressed stream without its end", "gzip", Compressor(.gzip).compress(Array("\n".utf8)),
            "The compressed answer ends too early"),
        ServiceFailure(
            testDescription: "a service without TLS", code: .connectionInsecure,
            text: "The connection to the service cannot be secured: ", scheme: "https"
        ) { connection in
            _ = connection.receive()
            connection.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        },
    ]

    private static func status(_ status: Int, _ code: PowerSyncError.Code, _ text: String) -> ServiceFailure {
        ServiceFailure(
            testDescription: "status \(status)", code: code,
            text: "\(text): POST http://127.0.0.1:PORT/sync/stream failed with status code \(status)",
            httpStatus: status
        ) { connection in
            guard connection.request() != nil else { return }
            let body = #"{"error":{"description":"secret"}}"#
            connection.send(
                "HTTP/1.1 \(status) No\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
                    + "Connection: close\r\n\r\n" + body)
        }
    }

    private static func compressed(
        _ name: String, _ coding: String, _ body: [UInt8], _ text: String
    ) -> ServiceFailure {
        ServiceFailure(
            testDescription: name, code: .protocolViolation,
            text: "The service sent what this client does not understand: \(text)"
        ) { connection in
            guard connection.request() != nil else { return }
            connection.send(.head(compressedAs: coding))
            connection.chunk(body)
            connection.endChunks()
        }
    }

    private static func stream(
        _ name: String, _ code: PowerSyncError.Code, _ text: String, lines: [String]
    ) -> ServiceFailure {
        ServiceFailure(testDescription: name, code: code, text: text) { connection in
            guard connection.request() != nil else { return }
            connection.send(String.chunkedHead)
            connection.chunk(lines.map { $0 + "\n" }.joined())
            connection.waitForHangUp()
        }
    }
}
