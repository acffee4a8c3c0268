import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Which requests are about attachments (backend 10.2).
struct AttachmentRouteTests {
    private func route(_ method: String, _ target: String) throws -> Route {
        var options = Route.Options()
        options.hasAttachments = true
        options.hasBlobs = true
        return try Route.find(HTTPRequest(method: method, target: target), options)
    }

    private func problem(_ method: String, _ target: String) -> Problem? {
        thrown { try route(method, target) } as? Problem
    }

    @Test(arguments: [
        "/api/v1/attachments", "/api/attachments", "//api//v1/attachments", "http://h/api/attachments",
    ])
    func eachPathIsThereWithAndWithoutAVersion(base: String) throws {
        for (method, path, expected) in [
            ("POST", "/upload-url", .uploadURL), ("POST", "/upload-url/", .uploadURL),
            ("POST", "/batch", .batch),
            ("POST", "/a/parts", .parts("a")), ("POST", "/a/complete", .complete("a")),
            ("GET", "/a/download-url", .downloadURL("a")), ("HEAD", "/a/download-url?x=1", .downloadURL("a")),
            ("DELETE", "/a", .delete("a")), ("DELETE", "/batch", .delete("batch")),
            ("DELETE", "/upload-url", .delete("upload-url")), ("POST", "/batch/parts", .parts("batch")),
        ] as [(String, String, AttachmentRoute)] {
            #expect(try route(method, base + path) == .attachment(expected), "\(method) \(path)")
        }
        #expect(try route("OPTIONS", base + "/a/complete") == .preflight)
        #expect(problem("GET", base + "/a")?.allow == "DELETE, OPTIONS")
        #expect(problem("PUT", base + "/upload-url")?.status == 405)
        for path in ["", "/a/nothing", "/a/b/complete", "/a/complete/b"] {
            #expect(problem("POST", base + path)?.status == 404, "\(path)")
        }
    }

    @Test(arguments: [
        ("a%2Fb", "a/b"), ("..%2F..%2Fetc", "../../etc"), ("%2e%2e", ".."), ("a%20b", "a b"), ("a+b", "a+b"),
        ("%C3%A9", "é"), ("e%CC%81", "e\u{301}"), ("a%25b", "a%b"), ("%3F%23", "?#"),
        ("a%2F%CC%81", "a/\u{301}"),
    ])
    func anIdIsWhatItsEncodingSays(encoded: String, id: String) throws {
        let found = try route("DELETE", "/api/v1/attachments/\(encoded)")
        #expect(found == .attachment(.delete(id)))
        guard case .attachment(.delete(let text)) = found else { return }
        #expect(ExactText(text) == ExactText(id))
        #expect(found.name == "attachment.delete", "no log has the id")
    }

    @Test func anIdHasOneTo255BytesWithoutNUL() throws {
        let longest = String(repeating: "é", count: 127) + "x"
        #expect(longest.utf8.count == 255)
        let encoded = PercentEncoding.encode(longest)
        #expect(try route("DELETE", "/api/v1/attachments/\(encoded)") == .attachment(.delete(longest)))
        for target in ["/api/v1/attachments/\(encoded)y", "/api/v1/attachments/a%00b"] {
            #expect(problem("DELETE", target)?.status == 400)
        }
        #expect(problem("DELETE", "/api/v1/attachments/%FF")?.status == 404)
    }

    @Test func signedURLsAreARouteOfTheirOwn() throws {
        for method in ["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH"] {
            #expect(try route(method, "/api/v1/blobs/key?sig=1") == .blob)
        }
        #expect(try route("OPTIONS", "/api/v1/blobs/key?sig=1") == .preflight)
        #expect(Route.blob.name == "blob")
        #expect(problem("GET", "/api/v1/blobs/")?.status == 404)
        #expect(problem("GET", "/api/v1/blobsx/key")?.status == 404)
    }

    @Test func whereNobodyKeepsThemThereAreNone() throws {
        for path in ["/api/v1/attachments/upload-url", "/api/v1/blobs/key"] {
            let error =
                thrown { try Route.find(HTTPRequest(method: "PUT", target: path), Route.Options()) }
                as? Problem
            #expect(error?.status == 404 && error?.slug == "no-such-route")
        }
    }
}

/// The same routes with a backend behind them.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct AttachmentsRouteTests {
    // MARK: Ids and paths

    @Test(arguments: [
        "a/b", "../../etc/passwd", "..", "a b?c#d%e", "é", "e\u{301}", #"it's "quoted" \ $1"#, "a\nb",
        String(repeating: "é", count: 127) + "x",
    ])
    func anyTextIsAnId(id: String) async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: id)
            try await fixture.keep(id, in: store)
            #expect(try await fixture.upload(id).json["id"] == .string(id))
            #expect(try await fixture.download(id).status == 200)
            #expect(try await fixture.download(id + "x").status != 200)
            try await fixture.execute("DELETE FROM notes")
            #expect(try await fixture.delete(id).status == 204)
        }
    }

    @Test(arguments: ["\"a\\u0000b\"", "\"\"", "\"\(String(repeating: "x", count: 256))\"", "7", "null"])
    func whatCanBeNoIdIsRefused(id: String) async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            let whole = AttachmentsFixture.question("ID", [1]).json.text
            let answer = try await fixture.send(
                "POST", "/upload-url", whole.replacing("\"ID\"", with: id))
            #expect(answer.verdict == "400 invalid-request")
            #expect(answer.json["detail"]?.stringValue?.hasPrefix("id") == true)
            #expect(try await fixture.backend.scalar("SELECT count(*) FROM psb.attachments") == "0")
            #expect(store.state.withLock { $0.calls.isEmpty })
        }
    }

    /// Two spellings that look alike are two ids.
    @Test func idsAreComparedByteForByte() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            try await fixture.note("n", of: "alice", photo: "é")
            try await fixture.keep("é", in: store)
            #expect(try await fixture.download("e\u{301}").verdict == "404 unknown")
            #expect(try await fixture.upload("e\u{301}").verdict == "404 unknown")
        }
    }

    @Test func aBodyIsReadAsOtherBodiesAre() async throws {
        try await AttachmentsFixture.withScripted { fixture, _ in
            let token = "Bearer \(try await fixture.backend.token("alice"))"
            for (body, type, verdict) in [
                ("{", "application/json", "400 malformed-json"),
                ("[]", "application/json", "400 invalid-request"),
                ("{}", "application/json", "400 invalid-request"),
                ("{}", "text/plain", "415 unsupported-media-type"),
            ] {
                for path in ["/upload-url", "/batch", "/a/parts"] {
                    let answer = try await fixture.backend.send(
                        "POST", AttachmentsFixture.base + path, body,
                        fields: ["authorization": token, "content-type": type])
                    #expect(answer.verdict == verdict, "\(path) \(body)")
                }
            }
            #expect(try await fixture.download("a", "?disposition=execute").verdict == "400 invalid-request")
        }
    }

    /// The names that the documentation of the client has.
    @Test func thePathsWithoutAVersionAreTheSame() async throws {
        try await AttachmentsFixture.with { fixture in
            try await fixture.note("n", of: "alice", photo: "a")
            let fields: HTTPFields = ["authorization": "Bearer \(try await fixture.backend.token("alice"))"]
            let body = AttachmentsFixture.question("a", [1, 2, 3]).json.text
            #expect(body.contains("\"contentType\"") && body.contains("\"filename\""))
            let ticket = try await fixture.backend.send(
                "POST", "/api/attachments/upload-url", body, fields: fields)
            #expect(ticket.status == 200 && ticket.json["uploadUrl"]?.stringValue != nil)
            #expect(try await fixture.put(ticket.json, [1, 2, 3]).status == 200)
            let done = try await fixture.backend.send("POST", "/api/attachments/a/complete", fields: fields)
            #expect(done.status == 204)
            let download = try await fixture.backend.send(
                "GET", "/api/attachments/a/download-url", fields: fields)
            let url = try #require(download.json["downloadUrl"]?.stringValue)
            #expect(try await fixture.get(url).body == [1, 2, 3])
            try await fixture.execute("DELETE FROM notes")
            let deleted = try await fixture.backend.send("DELETE", "/api/attachments/a", fields: fields)
            #expect(deleted.status == 204)
        }
    }

    // MARK: Several at once

    @Test func aBatchAnswersEachAsItWouldBeAnsweredAlone() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            for id in ["a", "b", "c"] { try await fixture.note(id, of: "alice", photo: id) }
            try await fixture.keep("a", in: store)
            try #require(try await fixture.upload("b").status == 200)
            let uploads = [
                AttachmentsFixture.question("c", [1]).json, AttachmentsFixture.question("x", [1]).json,
                .object([]), AttachmentsFixture.question("a", [1, 2, 3]).json,
            ]
            func row(_ id: String, _ table: String, _ row: String?) -> JSON {
                let members = [JSONMember("id", .string(id)), JSONMember("table", .string(table))]
                return .object(members + (row.map { [JSONMember("rowId", .string($0))] } ?? []))
            }
            let downloads: [JSON] = [
                .string("a"),
                .object([JSONMember("id", .string("a")), JSONMember("disposition", .string("inline"))]),
                .string("b"), .string("x"), .number("7"),
                .object([JSONMember("id", .string("a")), JSONMember("disposition", .string("x"))]),
                row("a", "notes", "a"), row("a", "notes", "b"), row("a", "notes", nil),
                row("a", "notes", "\0"),
            ]
            let body = JSON.object([
                JSONMember("upload", .array(uploads)), JSONMember("download", .array(downloads)),
            ])
            let answer = try await fixture.send("POST", "/batch", body.text)
            try #require(answer.status == 200, "\(answer.json.text)")
            func verdicts(_ name: String) -> [String] {
                (answer.json[name]?.arrayValue ?? []).map { item in
                    item["type"]?.stringValue?.split(separator: ":").last.map(String.init)
                        ?? item["id"]?.stringValue ?? (item["downloadUrl"] == nil ? "nothing" : "url")
                }
            }
            #expect(verdicts("upload") == ["c", "unknown", "invalid-request", "a"])
            #expect(
                verdicts("download") == [
                    "url", "url", "not-uploaded", "unknown", "invalid-request", "invalid-request",
                    "url", "unknown", "invalid-request", "invalid-request",
                ])
            for (query, verdict) in [
                ("?table=notes&rowId=a", "200"), ("?table=notes&rowId=b", "404 unknown"),
                ("?rowId=a", "400 invalid-request"), ("?table=notes&rowId=%00", "400 invalid-request"),
            ] {
                #expect(try await fixture.download("a", query).verdict == verdict, "\(query)")
            }
            let refused = try #require(answer.json["upload"]?.arrayValue?[1])
            #expect(refused["status"] == .integer(404) && refused["retryable"] == .bool(false))
            #expect(refused["retryAfter"] == nil)
            #expect(refused["instance"] == answer.fields["x-request-id"].map(JSON.string))
            #expect(answer.fields["cache-control"] == "no-store")
            #expect(
                fixture.backend.lines.withLock { $0.contains { $0.contains("attachments.items=14") } })
        }
    }

    @Test func aBatchHasAHundredAtMost() async throws {
        try await AttachmentsFixture.withScripted { fixture, _ in
            func batch(_ count: Int) -> String {
                let items = (0..<count).map { JSON.string("a\($0)") }
                return JSON.object([JSONMember("download", .array(items))]).text
            }
            let most = try await fixture.send("POST", "/batch", batch(100))
            #expect(most.status == 200 && most.json["download"]?.arrayValue?.count == 100)
            let more = try await fixture.send("POST", "/batch", batch(101))
            #expect(more.verdict == "413 too-large" && more.json["limit"] == .integer(100))
            for body in [#"{"upload":[]}"#, #"{"upload":{}}"#, #"{"download":7}"#] {
                #expect(try await fixture.send("POST", "/batch", body).verdict == "400 invalid-request")
            }
            // The largest that can be asked for has room.
            let long = AttachmentsFixture.question(
                String(repeating: "i", count: 255), [], filename: String(repeating: "\u{1}", count: 500))
            let large = JSON.object([JSONMember("upload", .array(Array(repeating: long.json, count: 100)))])
            #expect(try await fixture.send("POST", "/batch", large.text).status == 200)
        }
    }

    /// Trouble with one of them is the trouble of that one.
    @Test func aStoreThatIsAwayIsToldForEach() async throws {
        try await AttachmentsFixture.withScripted { fixture, store in
            for id in ["a", "b"] { try await fixture.note(id, of: "alice", photo: id) }
            try await fixture.keep("a", in: store)
            try #require(try await fixture.upload("b").status == 200)
            store.fail(with: ObjectStoreError(.unavailable, "away"))
            let answer = try await fixture.send("POST", "/batch", #"{"download":["b","a"]}"#)
            #expect(answer.status == 200)
            let items = try #require(answer.json["download"]?.arrayValue)
            #expect(items[0]["status"] == .integer(503) && items[0]["retryable"] == .bool(true))
            #expect((1...5).contains(items[0]["retryAfter"]?.int64Value ?? 0), "the field of a lone one")
            #expect(items[1]["downloadUrl"] != nil)
        }
    }

    // MARK: What is told

    @Test func capabilitiesSayWhatIsTaken() async throws {
        try await AttachmentsFixture.withScripted({
            $0.attachments?.policy.fileBytes = 1_000
            $0.attachments?.policy.userBytes = 2_000
            $0.attachments?.policy.userFiles = 3
            $0.attachments?.policy.types = ["image/*"]
        }) { fixture, _ in
            let told = try await fixture.backend.send("GET", "/api/capabilities").json
            #expect(told["features"]?.arrayValue?.contains(.string("attachments")) == true)
            let expected: [(String, JSON)] = [
                ("file_bytes", .integer(1_000)), ("user_bytes", .integer(2_000)), ("user_files", .integer(3)),
                ("types", .array([.string("image/*")])), ("part_bytes", .integer(8 << 20)),
                ("parts_per_request", .integer(100)), ("batch_items", .integer(100)),
            ]
            for (name, value) in expected { #expect(told["attachments"]?[name] == value, "\(name)") }
        }
    }

    @Test func withoutAStoreThereIsNothing() async throws {
        try await TestBackend.with(schema: AttachmentsFixture.schema, map: AttachmentsFixture.map) {
            backend in
            let token = try await backend.token("alice")
            let body = AttachmentsFixture.question("a", [1]).json.text
            for (method, path) in [
                ("POST", "/api/v1/attachments/upload-url"), ("POST", "/api/attachments/batch"),
                ("GET", "/api/v1/attachments/a/download-url"), ("DELETE", "/api/v1/attachments/a"),
                ("PUT", "/api/v1/blobs/key"),
            ] {
                let answer = try await backend.send(
                    method, path, body, fields: ["authorization": "Bearer \(token)"])
                #expect(answer.verdict == "404 no-such-route", "\(method) \(path)")
            }
            let told = try await backend.send("GET", "/api/capabilities").json
            #expect(told["attachments"] == nil)
            #expect(told["features"]?.arrayValue?.contains(.string("attachments")) == false)
            #expect(try await backend.backend.sweepAttachments() == nil)
        }
    }

    /// A signature in a log would be a right that lies about.
    @Test func noLogHoldsASignatureAnIdOrAName() async throws {
        try await AttachmentsFixture.with { fixture in
            try await fixture.note("canary-row", of: "alice", photo: "canary-id")
            let question = AttachmentsFixture.question("canary-id", [1, 2, 3], filename: "canary-name")
            let ticket = try await fixture.upload(question).json
            #expect(try await fixture.put(ticket, [3, 2, 1]).status == 400)
            #expect(try await fixture.put(ticket, [1, 2, 3]).status == 200)
            #expect(try await fixture.complete("canary-id").status == 204)
            let url = try #require(try await fixture.download("canary-id").json["downloadUrl"]?.stringValue)
            #expect(try await fixture.get(url).status == 200)
            let (altered, key) = (String(url.dropLast()) + "x", try await fixture.key("canary-id"))
            #expect(try await fixture.get(altered).status == 403)
            #expect(try await fixture.delete("canary-id").status == 409)
            let signatures = [url, try #require(ticket["uploadUrl"]?.stringValue)].compactMap {
                $0.firstMatch(of: /sig=([^&]+)/).map { String($0.1) }
            }
            #expect(signatures.count == 2)
            let lines = fixture.backend.lines.withLock { $0 }
            let routes = ["attachment.upload_url", "attachment.complete", "attachment.download_url", "blob"]
            for route in routes { #expect(lines.contains { $0.contains("http.route=\(route)") }, "\(route)") }
            for line in lines {
                #expect(!line.contains("canary") && !line.contains(key), "\(line)")
                #expect(!signatures.contains { line.contains($0) }, "\(line)")
            }
        }
    }

    // MARK: Browsers

    @Test func pagesMayTransferWhereTheyMayCall() async throws {
        try await AttachmentsFixture.with({ $0.corsOrigins = ["https://app.example.com"] }) { fixture in
            try await fixture.note("n", of: "alice", photo: "a")
            let ticket = try await fixture.upload("a").json
            let url = try #require(ticket["uploadUrl"]?.stringValue)
            var request = HTTPClientRequest(
                method: "OPTIONS", url: url,
                fields: [
                    "origin": "https://app.example.com", "access-control-request-method": "PUT",
                    "access-control-request-headers": "content-type,if-none-match,x-amz-checksum-sha256",
                ])
            let asked = try await fixture.send(request)
            #expect(asked.status == 200)
            #expect(asked.fields["access-control-allow-origin"] == "https://app.example.com")
            #expect(asked.fields["access-control-allow-methods"]?.contains("PUT") == true)
            for name in ["content-type", "if-none-match", "range", "x-amz-checksum-sha256", "authorization"] {
                #expect(asked.fields.tokens("access-control-allow-headers").contains(name), "\(name)")
            }
            let put = try await fixture.put(ticket, [1, 2, 3]) {
                $0.fields["origin"] = "https://app.example.com"
            }
            #expect(put.status == 200)
            #expect(put.fields["access-control-allow-origin"] == "https://app.example.com")
            #expect(put.fields.tokens("access-control-expose-headers").contains("content-range"))
            request.fields["origin"] = "https://evil.example.com"
            #expect(try await fixture.send(request).fields["access-control-allow-origin"] == nil)
        }
    }

    /// A page whose name leads here (backend 7, number 33) gets neither URLs nor bytes.
    @Test func onlyNamesThatNobodyElseOwnsAreAnswered() async throws {
        try await AttachmentsFixture.with({
            $0.attachments?.publicURL = "https://files.example.com/psb"
        }) { fixture in
            try await fixture.note("n", of: "alice", photo: "a")
            let ticket = try await fixture.upload("a").json
            let url = try #require(ticket["uploadUrl"]?.stringValue)
            #expect(url.hasPrefix("https://files.example.com/psb/api/v1/blobs/"))
            // What stands before the backend takes its path away.
            let target = String(url.dropFirst("https://files.example.com/psb".count))
            let here = "http://127.0.0.1:\(fixture.backend.backend.port)"
            for (host, status) in [("evil.example:80", 403), ("files.example.com", 200)] {
                let put = try await fixture.put(ticket, [1, 2, 3]) {
                    $0.url = here + target
                    $0.fields["host"] = host
                }
                #expect(put.status == status, "\(host)")
                if status == 403 {
                    #expect(try JSON.parse(put.body)["type"] == .string("urn:psb:problem:host-not-allowed"))
                }
            }
            let token = try await fixture.backend.token("alice")
            let answer = try await fixture.backend.send(
                "GET", AttachmentsFixture.base + "/a/download-url",
                fields: ["authorization": "Bearer \(token)", "host": "evil.example"])
            #expect(answer.verdict == "403 host-not-allowed")
        }
    }

    /// What the request calls the backend is not what its URLs say.
    @Test func urlsNameThePortOfTheBackendUnlessTheyAreToldOtherwise() async throws {
        try await AttachmentsFixture.with { fixture in
            try await fixture.note("n", of: "alice", photo: "a")
            let token = try await fixture.backend.token("alice")
            let answer = try await fixture.backend.send(
                "POST", AttachmentsFixture.base + "/upload-url",
                AttachmentsFixture.question("a", [1]).json.text,
                fields: ["authorization": "Bearer \(token)", "host": "localhost:1"])
            let url = try #require(answer.json["uploadUrl"]?.stringValue)
            #expect(url.hasPrefix("http://127.0.0.1:\(fixture.backend.backend.port)/api/v1/blobs/"))
        }
    }
}
