import PowerSyncTestSupport
import Testing

/// What language and engine may link, by Package.swift; that imports keep to it holds `make lint`.
struct EngineImportsTests {
    /// The dependencies of each library of Package.swift, without the prefix that targets carry.
    private func libraries() throws -> [String: [String]] {
        let manifest = try Repository.text("Package.swift")
        let declaration = /library\(\s*"(\w+)",\s*"[^"]+"(?:,\s*\[([^\]]*)\])?/
        var libraries: [String: [String]] = [:]
        for match in manifest.matches(of: declaration) {
            let names = (match.2 ?? "").matches(of: /"([^"]+)"/).map { String($0.1) }
            libraries[String(match.1)] = names
        }
        return libraries
    }

    /// All that a library stands on.
    private func reached(from name: String, in libraries: [String: [String]]) -> Set<String> {
        var reached: Set<String> = []
        var waiting = [name]
        while let next = waiting.popLast() {
            for dependency in libraries[next] ?? [] where reached.insert(dependency).inserted {
                waiting.append(dependency)
            }
        }
        return reached
    }

    @Test func theLanguageKnowsNoStorageAndNoNetwork() throws {
        let libraries = try libraries()
        #expect(reached(from: "SyncRules", in: libraries) == ["YAML", "C:YAML", "Wire"])
        // The search finds what is there.
        #expect(
            reached(from: "MockService", in: libraries).isSuperset(of: ["SyncRules", "Postgres", "C:PQ"]))
    }

    /// Whoever brings another source, or another way out, links neither libpq nor an HTTP server with the engine.
    @Test func theEngineLinksNoLibpqAndNoHTTP() throws {
        let libraries = try libraries()
        let engine = reached(from: "ServiceEngine", in: libraries)
        #expect(
            engine.isDisjoint(with: [
                "Postgres", "C:PQ", "PostgresSource", "PostgresServer", "MockService", "HTTP", "HTTPServer",
                "HTTPClient", "C:Curl",
            ]))
        // The search finds what is there.
        #expect(engine.isSuperset(of: ["SyncRules", "SQLite", "C:SQLite"]))
        #expect(
            reached(from: "PostgresSource", in: libraries).isSuperset(of: [
                "ServiceEngine", "Postgres", "C:PQ",
            ]))
        #expect(
            reached(from: "MockService", in: libraries).isSuperset(of: ["ServiceEngine", "PostgresSource"]))
    }
}
