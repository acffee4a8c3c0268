import PowerSyncCompression
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncMockService
import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Routes, error bodies, tokens and limits (service 1, 2, 3.9).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ServiceSurfaceTests {
    private static let schema = ReplicationServiceTests.schema
    private static let config = ReplicationServiceTests.config

    /// The requests without a stream of these recordings get the recorded status and body.
    @Test(arguments: [
        "auth-errors", "request-errors", "content-types-and-bodies", "authorization-header-forms",
        "checkpoint-request",
    ])
    func requestsAreAnsweredAsRecorded(_ name: String) async throws {
        let scenario = try ServiceRecordings.scenario(name)
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            var compared = 0
            for step in scenario["steps"]?.arrayValue ?? [] {
                guard let request = step["http"], let answer = step["answer"],
                    request["path"]?.stringValue != "/write-checkpoint.json"
                else { continue }
                try await compare(request, answer, service)
                compared += 1
            }
            #expect(compared > 3)
        }
    }

    private func compare(_ request: JSON, _ answer: JSON, _ service: TestService) async throws {
        var fields: HTTPFields = [:]
        for header in request["headers"]?.objectMembers ?? [] {
            fields[header.name] = header.value.stringValue
        }
        let authorization = fields["authorization"]
        var body = request["raw"]?.stringValue.map { Array($0.utf8) }
        if body == nil, let json = request["body"], !json.isNull { body = json.utf8 }
        if let long = request["body"]?["x"]?["$long"]?["characters"]?.int64Value {
            body = JSON.object([JSONMember("x", .string(String(repeating: "a", count: Int(long))))]).utf8
        }
        let path = try #require(request["path"]?.stringValue)
        let method = try #require(request["method"]?.stringValue)
        let isStream = answer["body"]?.stringValue == "(stream)"
        if isStream {
            let stream = try await service.openUnread(
                user: request["user"]?.stringValue ?? "", claims: request["claims"] ?? .object([]),
                body: body,
                fields: fields)
            #expect(stream.status == answer["status"]?.int64Value.map(Int.init), "\(request.text)")
            #expect(stream.fields["content-type"] == "application/x-ndjson")
            #expect(stream.fields["content-encoding"] == answer["headers"]?["content-encoding"]?.stringValue)
            stream.cancel()
            return
        }
        let token = authorization == nil ? request["token"]?.stringValue : ""
        let got = try await service.send(
            method, path, user: request["user"]?.stringValue ?? "", claims: request["claims"] ?? .object([]),
            body: body, fields: fields, token: token)
        #expect(got.status == answer["status"]?.int64Value.map(Int.init), "\(request.text)")
        if let expected = answer["body"]?.stringValue {
            #expect(String(decoding: got.body, as: UTF8.self) == expected, "\(request.text)")
        } else if answer["body"]?["touched_at"] != nil {
            let json = try JSON.parse(got.body)
            #expect(json["ready"] == .bool(true) && json["started"] == .bool(true))
            #expect(json["touched_at"]?.stringValue?.utf8.count == 24)
        } else {
            #expect(String(decoding: got.body, as: UTF8.self) == answer["body"]?.text, "\(request.text)")
        }
        for header in answer["headers"]?.objectMembers ?? [] where header.name != "content-length" {
            #expect(got.fields[header.name] == header.value.stringValue, "\(header.name) of \(request.text)")
        }
    }

    @Test func dataIsEmbeddedVerbatimWithoutRawData() async throws {
        let schema = [
            "CREATE TABLE n(id text PRIMARY KEY, i int8, r float8)",
            "INSERT INTO n VALUES ('a', 9223372036854775807, 1e21)",
        ]
        let config = "config: {edition: 3}\nstreams:\n  n: {auto_subscribe: true, query: SELECT * FROM n}\n"
        try await TestService.run(schema) { service in
            try await service.start(config)
            let stream = try await service.open(user: "u1", body: .object([]))
            // No checksums are sent either.
            try await wait(for: "the row") { stream.model.isComplete }
            #expect(stream.texts.joined().contains(#""data":{"id":"a","i":9223372036854775807,"r":1e+21}"#))
        }
    }

    @Test(arguments: [CompressionFormat.gzip, .zstd])
    func linesAreCompressedAndCanBeReadAtOnce(_ format: CompressionFormat) async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let stream = try await service.openUnread(
                user: "u1", fields: ["accept-encoding": format.rawValue])
            #expect(stream.fields["content-encoding"] == format.rawValue)
            let decompressor = Decompressor(format, limit: 1 << 20)
            var text = ""
            while !text.contains("checkpoint_complete"), let bytes = try await stream.next() {
                text += String(decoding: try decompressor.decompress(bytes), as: UTF8.self)
            }
            #expect(text.hasPrefix("{\"checkpoint\":") && text.hasSuffix("}}\n"))
            stream.cancel()
        }
    }

    @Test func aStreamMoreThanAllowedIsRefusedUntilOneEnds() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config) { $0.maxConcurrentConnections = 2 }
            let first = try await service.open()
            _ = try await service.open()
            let third = try await service.open()
            #expect(third.status == 429)
            #expect(third.fields["access-control-allow-origin"] == "*" && third.fields["content-type"] == nil)
            first.close()
            try await wait(for: "a free place") { try await service.open().status == 200 }
        }
    }

    @Test func moreBucketsThanAllowedAreRefused() async throws {
        let config = """
            config: {edition: 3}
            streams:
              a: {query: SELECT * FROM lists WHERE id = subscription.parameter('id')}
            """
        try await TestService.run(Self.schema) { service in
            try await service.start(config) { $0.maxBucketsPerConnection = 2 }
            let subscriptions = (1...3).map {
                StreamSubscription(stream: "a", parameters: .object([JSONMember("id", .integer($0))]))
            }
            let body = SyncStreamRequest(
                parameters: .object([]), streams: StreamSubscriptions(subscriptions: subscriptions)
            ).json
            let answer = try await service.send("POST", "/sync/stream", body: body.utf8)
            #expect(answer.status == 500 && answer.fields["x-accel-buffering"] == "no")
            #expect(
                String(decoding: answer.body, as: UTF8.self)
                    == #"{"error":{"code":"PSYNC_S2305","description":"Too many buckets: 3 (limit of 2)","name":"ServiceError"}}"#
            )
        }
    }

    /// Each subscription names another bucket with the one long parameter of the connection.
    @Test func namesOfBucketsThatAreLongerThanARequestCanBeAreRefused() async throws {
        let config = """
            config: {edition: 3}
            streams:
              a:
                query: SELECT * FROM lists WHERE id = subscription.parameter('id') AND name = connection.parameter('p')
            """
        try await TestService.run(Self.schema) { service in
            try await service.start(config)
            let subscriptions = (1...20).map {
                StreamSubscription(stream: "a", parameters: .object([JSONMember("id", .integer($0))]))
            }
            let long = String(repeating: "x", count: 100_000)
            let body = SyncStreamRequest(
                parameters: .object([JSONMember("p", .string(long))]),
                streams: StreamSubscriptions(subscriptions: subscriptions)
            ).json
            let answer = try await service.openUnread(user: "u1", body: body.utf8)
            defer { answer.cancel() }
            try #require(answer.status == 500)
            var text: [UInt8] = []
            while let bytes = try await answer.next() { text += bytes }
            #expect(try JSON.parse(text)["error"]?["code"]?.stringValue == "PSYNC_S2305")
        }
    }

    /// The clock on the wall is set back by ten minutes, then forward by twenty, while a stream rests.
    @Test func aClockThatIsSetNeitherSilencesNorFloodsAStream() async throws {
        try await TestService.run(Self.schema) { service in
            let clock = ManualClock(1_700_000_000)
            try await service.start(Self.config, clock: clock.clock)
            let token = JSON.object([
                JSONMember("iat", .integer(1_700_000_000)), JSONMember("exp", .integer(1_700_003_600)),
            ])
            let stream = try await service.open(claims: token)
            try await stream.holds("the rows")
            var expected: [SyncLine] = []
            for (change, seconds) in [(-600.0, Int64(4180)), (1200, 2960), (0, 2940)] {
                clock.setWall(by: change)
                let now = 1_700_000_000 + 20 * Double(expected.count + 1)
                try await clock.advance(to: now, whenWaitedFor: now)
                expected.append(.tokenExpiresIn(Int(seconds)))
                try await wait(for: "a keepalive") {
                    stream.lines.filter { if case .tokenExpiresIn = $0 { true } else { false } }
                } until: {
                    $0 == expected
                }
            }
        }
    }

    @Test func theStreamEndsWhenItsTokenExpires() async throws {
        try await TestService.run(Self.schema) { service in
            let clock = ManualClock(1_700_000_000)
            try await service.start(Self.config, clock: clock.clock)
            let token = JSON.object([
                JSONMember("iat", .integer(1_700_000_000)), JSONMember("exp", .integer(1_700_000_060)),
            ])
            let stream = try await service.open(claims: token)
            try await stream.holds("the rows")
            try await clock.advance(to: 1_700_000_020.5, whenWaitedFor: 1_700_000_022)
            try await wait(for: "a keepalive") { stream.lines.last == .tokenExpiresIn(40) }
            try await clock.advance(to: 1_700_000_040, whenWaitedFor: 1_700_000_040)
            try await wait(for: "the warning") { stream.lines.last == .tokenExpiresIn(20) }
            try await clock.advance(to: 1_700_000_060, whenWaitedFor: 1_700_000_060)
            try await stream.waitForEnd()
            #expect(stream.end == .clean)
            #expect(stream.lines.last == .tokenExpiresIn(0))
            // Within the tolerance the token is still accepted, and the stream ends at once.
            clock.set(1_700_000_090)
            let late = try await service.open(claims: token)
            try await late.waitForEnd()
            #expect(late.end == .clean && late.status == 200 && late.lines == [.tokenExpiresIn(0)])
            clock.set(1_700_000_121)
            #expect(try await service.open(claims: token).status == 401)
        }
    }

    /// What Prometheus reads; `sessions_behind` is what a test waits for to know that everybody has got everything.
    @Test func metricsSayWhatWasSentAndWhoIsBehind() async throws {
        try await TestService.run(Self.schema) { service in
            // No time passes, so that there are no lines but those of the rows.
            try await service.start(Self.config, clock: ManualClock(service.now).clock) { $0.metricsPort = 0 }
            func metrics() async throws -> [String: Double] {
                let answer = try await service.metrics("/metrics")
                #expect(answer.status == 200)
                #expect(answer.fields["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
                let lines = String(decoding: answer.body, as: UTF8.self).split(separator: "\n")
                return Dictionary(
                    uniqueKeysWithValues: lines.filter { !$0.hasPrefix("#") }.map {
                        let parts = $0.split(separator: " ")
                        return (String(parts[0].dropFirst("powersync_".count)), Double(parts[1]) ?? -1)
                    })
            }
            let stream = try await service.open(SyncStreamRequest(clientID: "c"))
            try await stream.holds(["lists/l1"])
            try await service.tx(
                "INSERT INTO lists VALUES ('l3', 'u1', '')", "INSERT INTO lists VALUES ('l4', 'u2', '')")
            try await stream.holds(["lists/l1", "lists/l3"])
            _ = try await service.writeCheckpoint(client: "c")
            try await stream.holds("the write checkpoint") { $0.writeCheckpoint == 1 }
            let after = try await wait(for: "nobody to be behind") {
                try await metrics()
            } until: {
                $0["sessions_behind"] == 0
            }
            #expect(after["concurrent_connections"] == 1 && after["operations_synced_total"] == 2)
            let bytes = stream.texts.reduce(0) { $0 + $1.utf8.count + 1 }
            #expect(after["data_synced_bytes_total"] == Double(bytes))
            #expect(after["data_sent_bytes_total"] == Double(bytes))
            #expect(after["rows_replicated_total"] == 2 && after["transactions_replicated_total"] ?? 0 >= 2)
            #expect(
                after["data_replicated_bytes_total"] ?? 0 > 0 && after["chunks_replicated_total"] ?? 0 >= 2)
            #expect(after["operation_storage_size_bytes"] ?? 0 > 0 && after["replication_lag_seconds"] == 0)
            #expect(try await service.metrics("/").status == 404)
            // Nobody reads this one, whose first line alone is more than sockets hold.
            try await service.tx(
                "INSERT INTO lists SELECT 'r' || n, 'u3', repeat('x', 20000) FROM generate_series(1, 600) n")
            let unread = try await service.openUnread(user: "u3")
            try await wait(for: "one to be behind") {
                try await metrics()
            } until: {
                $0["sessions_behind"] == 1 && $0["concurrent_connections"] == 2
            }
            unread.cancel()
            try await wait(for: "nobody to be behind again") {
                try await metrics()
            } until: {
                $0["sessions_behind"] == 0 && $0["concurrent_connections"] == 1
            }
        }
    }

    @Test func aConfigurationThatCannotBeUsedDoesNotStart() async throws {
        try await TestService.run(Self.schema) { service in
            await #expect(throws: SyncConfigError.self) {
                try await service.start("config: {edition: 3}\nstreams: {a: {query: SELECT 1}}")
            }
            #expect(service.port == 0)
        }
    }

    @Test func anAnswerThatIsNotTheRoutersCanBeReadByWebPagesToo() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            for (request, status) in [
                ("GET / HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n", 431),
                ("GET\r\n\r\n", 400),
            ] {
                let client = try RawClient(service.port, service.poller)
                try await client.send(request)
                let answer = try await client.response()
                #expect(answer.status == status && answer.has("access-control-allow-origin: *"))
                #expect(answer.has("access-control-expose-headers: Content-Type"))
            }
        }
    }

    @Test func aPreflightSaysThatNothingFollows() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let client = try RawClient(service.port, service.poller)
            try await client.send("OPTIONS /sync/stream HTTP/1.1\r\nHost: h\r\n\r\n")
            let answer = try await client.response()
            #expect(answer.status == 204 && answer.has("content-length: 0"))
            #expect(answer.has("access-control-allow-methods: GET,HEAD,POST"))
            #expect(try await client.get("/probes/liveness").status == 200)
        }
    }

    /// Which of them counts could be another one to a proxy.
    @Test func severalAuthorizationFieldsLetNobodyIn() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let token = try TestTokens.token(user: "u1", now: service.now)
            let field = "authorization: Token \(token)\r\n"
            let client = try RawClient(service.port, service.poller)
            #expect(try await client.get("/write-checkpoint2.json", field).status == 200)
            for fields in [field + field, "Authorization: Basic eDp5\r\n" + field] {
                let answer = try await client.get("/write-checkpoint2.json", fields)
                #expect(answer.status == 401 && answer.body.contains("PSYNC_S2106"), "\(answer)")
            }
        }
    }

    /// After an outage every client asks; three connections to Postgres serve them all.
    @Test func twoHundredWriteCheckpointsAtOnceAreAllTaken() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let stream = try await service.open(SyncStreamRequest(clientID: "7"))
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        try await service.send("GET", "/write-checkpoint2.json?client_id=\(number)").status
                    }
                }
                var statuses: [Int: Int] = [:]
                for try await status in group { statuses[status, default: 0] += 1 }
                #expect(statuses == [200: 200])
            }
            try await stream.holds("its write checkpoint") { $0.writeCheckpoint == 1 }
        }
    }

    @Test func moreWriteCheckpointsThanMayWaitAreRefused() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config) {
                #expect($0.checkpointRequests == TaskPlaces.Limits(active: 100, waiting: 100))
                $0.checkpointRequests = TaskPlaces.Limits(active: 0, waiting: 0)
            }
            for (method, path) in [("GET", "/write-checkpoint2.json"), ("POST", "/sync/checkpoint-request")] {
                let body = #"{"client_id":"c","checkpoint_request_id":"1"}"#
                let answer = try await service.send(
                    method, path, body: method == "POST" ? Array(body.utf8) : nil)
                #expect(answer.status == 429 && answer.body == [] && answer.fields["content-length"] == "0")
                #expect(answer.fields["content-type"] == nil)
                #expect(answer.fields["access-control-allow-origin"] == "*")
            }
            #expect(try await service.send("GET", "/write-checkpoint2.json", token: "x").status == 401)
        }
    }

    /// Each client of which a write checkpoint is known is known for ever.
    @Test func moreClientsOfAUserThanAllowedGetNoWriteCheckpoint() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config) {
                #expect($0.maxClientsPerUser == 10_000)
                $0.maxClientsPerUser = 1
            }
            #expect(try await service.writeCheckpoint(client: "a") == 1)
            let body = #"{"client_id":"b","checkpoint_request_id":"1"}"#
            for (method, path) in [
                ("GET", "/write-checkpoint2.json?client_id=b"), ("POST", "/sync/checkpoint-request"),
            ] {
                let answer = try await service.send(
                    method, path, body: method == "POST" ? Array(body.utf8) : nil)
                #expect(answer.status == 429)
                #expect(
                    String(decoding: answer.body, as: UTF8.self).contains("Too many clients of this user"))
            }
            #expect(service.log.count { $0.contains("a user has so many clients") } == 1)
            #expect(try await service.writeCheckpoint(client: "a") == 2)
            #expect(try await service.writeCheckpoint(user: "u2", client: "a") == 1)
        }
    }

    @Test func requestedWriteCheckpointsAreKeptForAnHourAndWhatAStreamWasToldIsNotTakenBack() async throws {
        try await TestService.run(Self.schema) { service in
            let clock = ManualClock(service.now)
            let start = clock.clock.now()
            try await service.start(Self.config, clock: clock.clock) {
                #expect($0.checkpointRequestRetention == .seconds(3600))
            }
            let stream = try await service.open(
                claims: .object([JSONMember("exp", .integer(Int64(start) + 86_000))]),
                SyncStreamRequest(clientID: "named"))
            let body = #"{"client_id":"named","checkpoint_request_id":"5"}"#
            _ = try await service.send("POST", "/sync/checkpoint-request", body: Array(body.utf8))
            try await stream.holds("the named id") { $0.writeCheckpoint == 5 }
            #expect(try await service.writeCheckpoint(client: "given") == 1)
            let state = try SQLiteConnection(path: service.statePath, flags: .readOnly)
            defer { state.close() }
            func keys() throws -> [String] {
                try state.query("SELECT key FROM write_checkpoint ORDER BY key") { $0.string(0) }
            }
            #expect(try keys() == ["u1/given", "u1/named"])
            try await wait(for: "the named one to go, hour by hour as long as the token is valid") {
                clock.set(min(clock.clock.now() + 3600, start + 72_000))
                return try keys()
            } until: {
                $0 == ["u1/given"]
            }
            try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
            let held = try await stream.holds(["lists/l1", "lists/l3"])
            #expect(held.writeCheckpoint == 5)
        }
    }

    /// A request that waits for a key is in work while the service stops.
    @Test func aRequestInWorkIsAnsweredWhenTheServiceStops() async throws {
        let gate = BlockingGate()
        defer { gate.open() }
        let keys = try RawServer { connection in
            _ = connection.request()
            gate.wait()
        }
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config) {
                $0.jwksURIs = [keys.url("/keys")]
                $0.grace = TestOptions.deadline
            }
            let token = try TestTokens.token(
                user: "u1", now: service.now, claims: .object([JSONMember("__kid", .string("other"))]))
            async let answer = service.send("GET", "/write-checkpoint2.json", token: token)
            try await wait(for: "the request to wait for a key") { gate.arrivals == 1 }
            let port = service.port
            async let stopping: Void = service.stop()
            try await wait(for: "nobody to be let in any more") {
                (try? RawClient(port, service.poller)) == nil
            }
            gate.open()
            let response = try await answer
            // The keys' server gives none: that is the answer to this request, whatever else ends.
            #expect(response.status == 401)
            #expect(String(decoding: response.body, as: UTF8.self).contains("PSYNC_S2204"))
            await stopping
        }
    }

    @Test func aClientIDIsBounded() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            for (length, status) in [(256, 200), (257, 400)] {
                let id = String(repeating: "x", count: length)
                let path = "/write-checkpoint2.json?client_id=\(id)"
                #expect(try await service.send("GET", path).status == status)
            }
        }
    }

    /// A number that a double cannot hold may have been another one.
    @Test(arguments: [("9007199254740991", 200), ("9007199254740992", 400), ("\"9007199254740992\"", 200)])
    func aCheckpointRequestIsATextOrASafeInteger(id: String, status: Int) async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let body = "{\"client_id\":\"c\",\"checkpoint_request_id\":\(id)}"
            let answer = try await service.send("POST", "/sync/checkpoint-request", body: Array(body.utf8))
            #expect(answer.status == status)
        }
    }

    @Test func whatAClientAcceptsMayStandInSeveralFields() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let client = try RawClient(service.port, service.poller)
            defer { client.leave() }
            let token = try TestTokens.token(user: "u1", now: service.now)
            try await client.send(
                "POST /sync/stream HTTP/1.1\r\nHost: h\r\nauthorization: Token \(token)\r\n"
                    + "accept: text/html\r\naccept: \(LineFormat.bson.rawValue)\r\n"
                    + "content-type: application/json\r\ncontent-length: 2\r\n\r\n{}")
            let answer = try await client.response(toHead: true)
            #expect(answer.has("content-type: \(LineFormat.bson.rawValue)"))
        }
    }
}
