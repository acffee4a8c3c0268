import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncPostgres
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Nobody sees what belongs to another, whatever they ask for (service 2, 3.6, 3.8), and no log holds it.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct IsolationTests {
    private static let users = ["ann", "ben", "cem", "dua"]
    private static let schema = [
        "CREATE TABLE notes(id text PRIMARY KEY, owner text, team text, body text)",
        "INSERT INTO notes SELECT u || '-' || n, u, 'team-of-' || u, 'secret-of-' || u || '-' || n "
            + "FROM unnest(ARRAY['ann', 'ben', 'cem', 'dua']) u, generate_series(1, 20) n",
    ]
    /// By user, by a claim, and by a parameter that is only of use together with the user.
    private static let config = """
        config: {edition: 3}
        streams:
          mine: {auto_subscribe: true, query: SELECT * FROM notes WHERE owner = auth.user_id()}
          team: {auto_subscribe: true, query: "SELECT * FROM notes WHERE team = auth.parameter('team')"}
          one:
            query: SELECT * FROM notes WHERE owner = auth.user_id() AND id = subscription.parameter('id')
        """

    /// Every way to ask for what is another's.
    private static func request(of user: String, instead other: String) -> SyncStreamRequest {
        let forged = JSON.object([
            JSONMember("user_id", .string(other)), JSONMember("sub", .string(other)),
            JSONMember("team", .string("team-of-\(other)")), JSONMember("owner", .string(other)),
        ])
        let names = [
            "1#mine|0[\"\(other)\"]", "1#team|0[\"team-of-\(other)\"]",
            "1#one|0[\"\(other)\",\"\(other)-1\"]",
        ]
        let ids = ["\(other)-1", "\(user)-1", "' OR '1'='1"]
        return SyncStreamRequest(
            buckets: names.map { BucketRequest(name: $0, after: 0) }, clientID: "the same for all",
            parameters: forged,
            streams: StreamSubscriptions(
                subscriptions: ids.map {
                    StreamSubscription(
                        stream: "one",
                        parameters: .object([
                            JSONMember("id", .string($0)), JSONMember("user_id", .string(other)),
                            JSONMember("owner", .string(other)),
                        ]))
                }))
    }

    @Test func nobodyGetsWhatIsAnothersAndNoLogHoldsIt() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            var streams: [(user: String, other: String, stream: TestStream)] = []
            for (index, user) in Self.users.enumerated() {
                let other = Self.users[(index + 1) % Self.users.count]
                let claims = JSON.object([JSONMember("team", .string("team-of-\(user)"))])
                let stream = try await service.open(
                    user: user, claims: claims, Self.request(of: user, instead: other))
                streams.append((user, other, stream))
            }
            for (user, _, stream) in streams {
                try await stream.holds("the twenty of \(user)") { $0.rowCount == 20 }
            }
            // A client id belongs to its user: what one asks for, the other is not told.
            #expect(try await service.writeCheckpoint(user: "ann", client: "the%20same%20for%20all") == 1)
            #expect(try await service.writeCheckpoint(user: "ann", client: "the%20same%20for%20all") == 2)
            #expect(try await service.writeCheckpoint(user: "ben", client: "the%20same%20for%20all") == 1)
            // Rows change hands while everybody looks.
            try await service.tx("UPDATE notes SET owner = 'ben', team = 'team-of-ben' WHERE id = 'ann-1'")
            try await service.tx("UPDATE notes SET body = body || '!'")
            for (user, _, stream) in streams {
                let count = user == "ann" ? 19 : user == "ben" ? 21 : 20
                try await stream.holds("the changed rows of \(user)") { model in
                    model.rowCount == count
                        && model.rowNames.allSatisfy { model.data(of: $0)?.contains("!") == true }
                }
            }
            try await streams[0].stream.holds("ann's write checkpoint") { $0.writeCheckpoint == 2 }
            try await streams[1].stream.holds("ben's write checkpoint") { $0.writeCheckpoint == 1 }
            #expect(streams[2].stream.model.writeCheckpoint == nil)
            for (user, _, stream) in streams {
                let text = stream.texts.joined()
                for foreign in Self.users where foreign != user {
                    // The row that changed hands keeps the body that says whose it was.
                    var shown = text
                    if user == "ben", foreign == "ann" {
                        for end in ["!", "\\\""] {
                            shown = shown.replacing("secret-of-ann-1\(end)", with: "")
                        }
                    }
                    #expect(!shown.contains("secret-of-\(foreign)"), "\(user) sees a row of \(foreign)")
                    #expect(
                        !text.contains("[\\\"\(foreign)\\\"") && !text.contains("team-of-\(foreign)\\\"]"))
                }
                stream.close()
            }
            let answer = try await service.send(
                "POST", "/sync/stream", body: Array("{\"buckets\": \"secret-of-ann\"}".utf8))
            #expect(answer.status == 400)
            let log = service.log.joined(separator: "\n")
            for word in ["secret-of", "team-of", "OR '1'='1"] {
                #expect(!log.contains(word), "\(word) is in the log")
            }
            #expect(!log.isEmpty)
        }
    }

    /// Postgres quotes a value that it cannot read.
    @Test func theLogQuotesNoValueThatPostgresRefuses() async throws {
        let schema = [
            "CREATE TABLE notes(id text PRIMARY KEY, n int)", "INSERT INTO notes VALUES ('1', 4711)",
        ]
        try await TestService.run(schema, publication: "FOR TABLE notes WHERE (make_date(n, 99, 1) IS NULL)")
        { service in
            let config =
                "config: {edition: 3}\nstreams: {s: {auto_subscribe: true, query: SELECT * FROM notes}}"
            let start = Task { try await service.start(config) }
            try await wait(for: "the reading to fail") {
                service.log.contains { $0.contains("a value was refused (SQLSTATE 22008)") }
            }
            #expect(!service.log.joined().contains("4711-99"))
            try await service.tx("TRUNCATE notes")
            try await start.value
        }
    }

    /// Names that look the same, or mean the same characters, are those of different users if their bytes differ.
    @Test func usersWhoseNamesAreOnlySpelledAlikeAreNotOne() async throws {
        // One letter or two; the letter K and the sign for kelvin.
        let users = ["\u{e9}", "e\u{301}", "Kate", "\u{212A}ate"]
        let values = users.enumerated().map { "('n\($0)', '\($1)', 'team \($1)', 'of \($0)')" }
        try await TestService.run([
            Self.schema[0], "INSERT INTO notes VALUES " + values.joined(separator: ", "),
        ]) { service in
            try await service.start(Self.config)
            for (number, user) in users.enumerated() {
                let stream = try await service.open(
                    user: user, claims: .object([JSONMember("team", .string("team \(user)"))]))
                try await stream.holds(["notes/n\(number)"])
                stream.close()
            }
        }
    }

    /// The id of a user may hold what stands between user and client in the key of write checkpoints.
    @Test func noUserReachesTheWriteCheckpointsOfAnother() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            #expect(try await service.writeCheckpoint(user: "a", client: "b/c") == 1)
            #expect(try await service.writeCheckpoint(user: "a/b", client: "c") == 1)
            #expect(try await service.writeCheckpoint(user: "a%2Fb", client: "c") == 1)
            #expect(try await service.writeCheckpoint(user: "a/b", client: "c") == 2)
            // A slash and the mark on it are one character.
            #expect(try await service.writeCheckpoint(user: "a/\u{301}b", client: "c") == 1)
            #expect(try await service.writeCheckpoint(user: "a", client: "%CC%81b/c") == 1)
        }
    }
}
