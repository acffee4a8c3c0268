import Foundation
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

#if os(Linux)
    /// Many bodies of 16 MiB at once.
    ///
    /// `POWERSYNC_BODIES` says how many; 100 is what is promised.
    @Suite(.enabled(if: TestOptions.hasDatabase), .patient(), .serialized)
    struct HeavyBodyTests {
        private static let count = TestOptions.number("POWERSYNC_BODIES", standard: 10)
        /// Applying one takes seconds in a debug build.
        private static let validCount = count < 100 ? min(count, 3) : count
        #if DEBUG
            /// Half of a body that the backend takes, and more values than one may have.
            private static let size = 8 << 20
        #else
            /// All of a body that the backend takes.
            private static let size = 16 << 20
        #endif
        private static let mostMemory = 512 << 20
        /// A machine that stands still sends no body in the time of production, which counts in the full size alone.
        private static let environment =
            count < 100 ? ["BODY_TIMEOUT": "3600", "BODY_BYTES_PER_SECOND": "1024"] : [:]
        private static let schema = """
            CREATE TABLE docs (id text PRIMARY KEY, body jsonb, text text, tags int[]);
            CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public;
            """

        /// Bodies by what they are made of, and what each deserves.
        private static let shapes: [(name: String, statuses: Set<Int>, body: [UInt8])] = [
            ("objects alone", [400], filled("", "{},", "")),
            ("operations without members", [413], filled(#"{"batch":["#, "{},", "{}]}")),
            ("objects in a column", [413], filled(put + #""body":["#, "{},", "{}]}}]}")),
            ("numbers in a column", [413], filled(put + #""body":["#, "1,", "1]}}]}")),
            ("one number", [200], filled(put + #""body":"#, "7", "}}]}")),
            ("depth 128", [413], filled(put + #""body":["#, depth(128) + ",", "0]}}]}")),
            ("depth 128 without an end", [413], filled(put + #""body":["#, "[", "")),
            ("one text", [200], filled(put + #""text":""#, "x", #""}}]}"#)),
            ("escapes", [200], filled(put + #""text":""#, #"\u00e9"#, #""}}]}"#)),
            ("an array in a text", [200], bytes(put, #""tags":"["#, ones, #"1]"}}]}"#)),
            ("many values", [200], bytes(put, #""body":["#, values, "0]}}]}")),
        ]

        private static let put = #"{"batch":[{"op":"PUT","table":"docs","id":"x","data":{"#

        // About as many elements as an array may have, which nobody counts as values of the body, and as many values as a body
        // may have; a debug build would need longer for these than an upload may take.
        #if DEBUG
            private static let ones = String(repeating: "1,", count: 200_000)
            private static let values = String(repeating: #"{"a":1234567890},"#, count: 50_000)
            private static let validRows = 200
        #else
            private static let ones = String(repeating: "1,", count: 2_600_000)
            private static let values = String(repeating: #"{"a":1234567890},"#, count: 980_000)
            private static let validRows = 1_080
        #endif

        private static func bytes(_ parts: String...) -> [UInt8] { Array(parts.joined().utf8) }

        private static func depth(_ count: Int) -> String {
            String(repeating: "[", count: count) + String(repeating: "]", count: count)
        }

        private static func filled(_ start: String, _ piece: String, _ end: String) -> [UInt8] {
            let count = (size - start.utf8.count - end.utf8.count) / piece.utf8.count
            return Array((start + String(repeating: piece, count: count) + end).utf8)
        }

        private static func token(_ client: HTTPClient, _ port: Int, _ user: Int) async throws -> String {
            let answer = try await client.send(
                HTTPClientRequest(
                    url: "http://127.0.0.1:\(port)/api/auth/token?user_id=u\(user)",
                    connectTimeout: TestOptions.deadline, idleTimeout: TestOptions.deadline))
            return try #require(try JSON.parse(answer.body)["token"]?.stringValue)
        }

        private static func send(
            _ body: [UInt8], _ token: String, _ client: HTTPClient, _ port: Int
        ) async throws -> HTTPClientResponse {
            try await client.send(
                HTTPClientRequest(
                    method: "POST", url: "http://127.0.0.1:\(port)/api/data",
                    fields: ["content-type": "application/json", "authorization": "Bearer \(token)"],
                    body: body, connectTimeout: TestOptions.deadline,
                    idleTimeout: TestOptions.deadline))
        }

        @Test func eachOfManyGetsTheAnswerThatItsShapeDeservesInBoundedMemory() async throws {
            try await BackendProcess.with(schema: Self.schema, environment: Self.environment) { process, _ in
                let client = try HTTPClient()
                defer { client.close() }
                let base = try process.resident
                let served = Lock<Set<String>>([])
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<Self.count {
                        let shape = Self.shapes[number % Self.shapes.count]
                        let token = try await Self.token(client, process.port, number)
                        group.addTask {
                            let answer = try await Self.send(shape.body, token, client, process.port)
                            if answer.status == 503 {
                                #expect(answer.fields["retry-after"] != nil)
                            } else {
                                #expect(shape.statuses.contains(answer.status), "\(shape.name)")
                                served.withLock { _ = $0.insert(shape.name) }
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                // One for which there was no room gets its answer when it is alone.
                let token = try await Self.token(client, process.port, 0)
                for shape in Self.shapes where !served.withLock({ $0.contains(shape.name) }) {
                    let status = try await wait(
                        for: "an answer that is not 503",
                        read: { try await Self.send(shape.body, token, client, process.port).status },
                        until: { $0 != 503 || shape.statuses.contains(503) })
                    #expect(shape.statuses.contains(status), "\(shape.name) alone")
                }
                let peak = try process.peak
                #expect(peak <= Self.mostMemory, "\(base >> 20) MiB before, \(peak >> 20) at the most")
            }
        }

        @Test func allThatAreValidAreAppliedWithRetries() async throws {
            try await BackendProcess.with(schema: Self.schema, environment: Self.environment) {
                process, uri in
                let client = try HTTPClient()
                defer { client.close() }
                let start = ContinuousClock.now
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<Self.validCount {
                        let token = try await Self.token(client, process.port, number)
                        group.addTask {
                            let text = String(repeating: "x", count: 15 << 10)
                            let rows = (0..<Self.validRows).map {
                                #"{"op":"PUT","table":"docs","id":"\#(number)-\#($0)","data":{"text":"\#(text)"}}"#
                            }
                            let body = Array("{\"batch\":[\(rows.joined(separator: ","))]}".utf8)
                            try #require(body.count > Self.validRows * 15 << 10 && body.count <= Self.size)
                            try await insist(body, token, client, process.port)
                        }
                    }
                    try await group.waitForAll()
                }
                let took = start.duration(to: .now)
                if Self.validCount == 100 { #expect(took < .seconds(120)) }
                let peak = try process.peak
                #expect(peak <= Self.mostMemory, "\(peak >> 20) MiB")
                let poller = try Poller()
                defer { poller.stop() }
                let connection = try await PostgresConnection.connect(uri, poller: poller)
                let rows = try await connection.query("SELECT count(*) FROM docs").scalar
                await connection.close()
                #expect(rows == String(Self.validRows * Self.validCount))
            }
        }

        /// Sends a body as a connector does: again, when it was told to come again.
        private func insist(_ body: [UInt8], _ token: String, _ client: HTTPClient, _ port: Int) async throws
        {
            while true {
                let answer = try await Self.send(body, token, client, port)
                if answer.status == 200 { return }
                try #require(answer.status == 503)
                let seconds = try #require(answer.fields["retry-after"].flatMap { Int($0) })
                try await ContinuousClock().sleep(for: .seconds(seconds))
            }
        }
    }
#endif
