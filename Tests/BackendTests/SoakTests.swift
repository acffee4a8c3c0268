import PowerSyncHTTPTestSupport
import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

#if os(Linux)
    /// Twice as many uploads at once as there are connections, for a while (backend 9.2, case 125).
    ///
    /// `POWERSYNC_SOAK` says for how many seconds; 60 is what is promised.
    @Suite(.enabled(if: TestOptions.hasDatabase), .patient(), .serialized)
    struct SoakTests {
        private static let seconds = TestOptions.number("POWERSYNC_SOAK", standard: 1)
        /// Whether times and memory are judged, which needs a machine that does nothing else.
        private static let isMeasured = seconds >= 60
        private static let users = 16

        /// A user and what it sends by.
        private struct Device: Sendable {
            let user: Int
            let client: JSONClient
            let token: String

            /// Uploads one row after the other until a moment; returns how long each took that was taken.
            func upload(_ round: Int, until end: ContinuousClock.Instant) async throws -> [Duration] {
                var durations: [Duration] = []
                repeat {
                    let id = "\(round)-\(user)-\(durations.count)"
                    let put = #"{"op":"PUT","table":"lists","id":"\#(id)","data":{"name":"n"}}"#
                    let start = ContinuousClock.now
                    let answer = try await client.send(
                        "POST", "/api/data", "{\"batch\":[\(put)]}", token: token)
                    if answer.status == 200 {
                        durations.append(start.duration(to: .now))
                    } else {
                        let type = try answer.json["type"]?.stringValue
                        try #require(answer.status == 503 && type == "urn:psb:problem:overloaded")
                    }
                } while ContinuousClock.now < end
                return durations
            }
        }

        /// Has all of them upload for so many seconds.
        private static func uploads(
            _ devices: [Device], _ round: Int, seconds: Int
        ) async throws -> [Duration] {
            let end = ContinuousClock.now + .seconds(seconds)
            return try await withThrowingTaskGroup(of: [Duration].self) { group in
                for device in devices { group.addTask { try await device.upload(round, until: end) } }
                return try await group.reduce(into: []) { $0 += $1 }
            }
        }

        @Test func twiceAsManyAsConnectionsLeaveNothingBehind() async throws {
            try await BackendProcess.with(schema: TestBackend.demoTables) { process, uri in
                let poller = try Poller()
                defer { poller.stop() }
                var devices: [Device] = []
                for user in 0..<Self.users {
                    let client = try JSONClient("http://127.0.0.1:\(process.port)")
                    let json = try await client.send("GET", "/api/auth/token?user_id=u\(user)").json
                    let token = try #require(json["token"]?.stringValue)
                    devices.append(Device(user: user, client: client, token: token))
                }
                // The first ones open connections, plan statements and take what is kept.
                let first = try await Self.uploads(devices, 1, seconds: max(1, Self.seconds / 4))
                let (files, memory) = (try Processes.openFiles(of: process.id).count, try process.resident)
                let durations = try await Self.uploads(devices, 2, seconds: Self.seconds)
                let tail = durations.percentile99
                let after = try process.resident
                print("soak: \(durations.count) uploads, p99 \(tail); \(memory) bytes, then \(after)")
                // One more here and there is a connection of the pool that was not needed before.
                try await wait(
                    for: "as many descriptors as before",
                    read: { try Processes.openFiles(of: process.id).count }, until: { $0 <= files + 8 })
                #expect(!Self.isMeasured || tail < .seconds(2) * TestOptions.patience)
                #expect(!Self.isMeasured || after < memory + 64 << 20)
                let connection = try await PostgresConnection.connect(uri, poller: poller)
                let idle = """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND state LIKE 'idle in transaction%'
                    """
                try await wait(
                    for: "no transaction to be open", read: { try await connection.query(idle).scalar },
                    until: { $0 == "0" })
                let rows = try await connection.query("SELECT count(*) FROM lists").scalar
                #expect(rows == String(first.count + durations.count))
                await connection.close()
            }
        }
    }
#endif
