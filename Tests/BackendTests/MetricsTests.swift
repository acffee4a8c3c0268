import PowerSyncHTTP
import PowerSyncBackend
import PowerSyncHTTPTestSupport
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What a backend counts and measures, and where it tells it (backend 8.4; case 176).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct MetricsTests {
    private func with(_ body: (TestBackend, JSONClient) async throws -> Void) async throws {
        try await TestBackend.with({ $0.links.metricsPort = 0 }) { backend in
            let port = try #require(backend.backend.metricsPort)
            try await body(backend, try JSONClient("http://127.0.0.1:\(port)"))
        }
    }

    /// The lines of the page that are no comments.
    private func lines(_ client: JSONClient) async throws -> [String] {
        let answer = try await client.send("GET", "/metrics")
        #expect(answer.status == 200)
        #expect(answer.fields["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
        return String(decoding: answer.body, as: UTF8.self).split(separator: "\n").map { String($0) }.filter {
            !$0.hasPrefix("#")
        }
    }

    private func put(_ id: String, _ name: String, _ table: String = "lists") -> String {
        #"{"op":"PUT","table":"\#(table)","id":"\#(id)","data":{"name":"\#(name)"}}"#
    }

    @Test func uploadsAreCountedByWhatBecameOfThem() async throws {
        try await with { backend, client in
            _ = try await backend.apply(put("a", "n"))
            _ = try await backend.apply(put("b", "bad"))
            for _ in 0..<2 {
                #expect(try await backend.send("GET", "/api/auth/token?user_id=u1").status == 200)
            }
            let lines = try await lines(client)
            for line in [
                #"psb_http_requests_total{route="upload",method="POST",status="200"} 2"#,
                #"psb_upload_transactions_total{result="success"} 1"#,
                #"psb_upload_transactions_total{result="fatal_error"} 1"#,
                #"psb_upload_ops_total{table="lists",op="PUT",status="applied"} 1"#,
                #"psb_upload_rejections_total{code="CHECK_VIOLATION",table="lists"} 1"#,
                #"psb_upload_path_total{path="fast"} 1"#, #"psb_http_body_bytes_count 2"#,
                #"psb_tokens_minted_total{result="minted"} 2"#, #"psb_upload_replays_total 0"#,
                #"psb_dead_letters_open 1"#, #"psb_db_pool_size 4"#,
                #"psb_replication_slot_status{status="lost"} 0"#,
            ] {
                #expect(lines.contains(line), "\(line)")
            }
            #expect(lines.contains { $0.hasPrefix("psb_build_info{version=\"") })
            #expect(lines.contains { $0.hasPrefix("psb_db_acquire_seconds_bucket{le=\"+Inf\"} ") })
        }
    }

    /// Whoever sends names, methods and paths of any kind makes no series, and none of them is told.
    @Test func labelsAreBounded() async throws {
        try await with { backend, client in
            for number in 0..<20 {
                _ = try await backend.apply(put("secret\(number)", "n", "odd\(number)"))
                _ = try await backend.send("ODD\(number)", "/odd\(number)")
            }
            let lines = try await lines(client)
            #expect(
                !lines.contains {
                    $0.lowercased().contains("odd") || $0.contains("secret") || $0.contains("u1")
                })
            #expect(lines.contains(#"psb_http_requests_total{route="none",method="other",status="404"} 20"#))
            #expect(lines.contains(#"psb_upload_rejections_total{code="UNKNOWN_TABLE",table="other"} 20"#))
            #expect(lines.count { $0.hasPrefix("psb_upload_ops_total{") } == 1)
        }
    }

    @Test func theyAreOnTheirOwnPortAlone() async throws {
        try await with { backend, client in
            let found = try await backend.send("GET", "/metrics").status
            #expect(found == 404)
            let apart = try JSONClient("http://127.0.0.1:\(backend.backend.port)")
            let besides = try await apart.send("GET", "/metrics").status
            #expect(besides == 404)
            for path in ["/", "/api/data", "/readyz", "/metrics/x"] {
                let found2 = try await client.send("GET", path).status
                #expect(found2 == 404, "\(path)")
            }
            let found3 = try await client.send("POST", "/metrics", "{}").status
            #expect(found3 == 405)
        }
        try await TestBackend.with { #expect($0.backend.metricsPort == nil) }
    }

    /// A page that has its own name lead to 127.0.0.1 is of one origin with whatever listens there.
    @Test func onThisMachineItAnswersToItsNamesAlone() async throws {
        try await with { _, client in
            for (host, status) in [
                ("evil.example.com", 403), ("evil.example.com:9464", 403), ("localhost:9464", 200),
                ("127.0.0.1", 200),
                ("[::1]:9464", 200),
            ] {
                let answer = try await client.send("GET", "/metrics", fields: ["host": host])
                #expect(answer.status == status, "\(host)")
                #expect(answer.body.isEmpty == (status == 403), "\(host)")
            }
        }
        // Whoever lets other machines ask has them use a name of their network.
        try await TestBackend.with({
            $0.links.metricsPort = 0
            $0.links.metricsHost = "0.0.0.0"
        }) { backend in
            let port = try #require(backend.backend.metricsPort)
            let client = try JSONClient("http://127.0.0.1:\(port)")
            let answer = try await client.send("GET", "/metrics", fields: ["host": "backend:9464"])
            #expect(answer.status == 200)
        }
    }
}
