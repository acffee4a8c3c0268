import Foundation
import PowerSync
import PowerSyncPostgres
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The README's first steps one after the other: `make up`, its program, and the lines that sync it.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ReadmeStepsTests {
    /// The program; the name of the file, `print` and the end are the caller's.
    private static func program(
        file: String, print: @Sendable (String) -> Void
    ) async throws -> any PowerSyncDatabaseProtocol {
        // begin program
        let schema = Schema(
            Table(name: "lists", columns: [.text("owner_id"), .text("name")])
        )
        let database = PowerSyncDatabase(schema: schema, dbFilename: file)

        try await database.execute(
            sql: "INSERT INTO lists (id, owner_id, name) VALUES (uuid(), ?, ?)",
            parameters: ["alice", "Books"])
        let count = try await database.get(
            "SELECT count(*) FROM lists WHERE name = 'Books'", mapper: { try $0.getInt(index: 0) })
        print("\(count) × Books")
        // end program
        return database
    }

    /// The lines that sync it; the connector and `print` are the caller's.
    private static func sync(
        _ database: any PowerSyncDatabaseProtocol, with connector: BackendConnector,
        print: @Sendable ([String]) -> Void
    ) async throws {
        // begin syncing
        try await database.connect(connector: connector, options: ConnectOptions())

        let lists = try database.watch(
            "SELECT name FROM lists", mapper: { try $0.getString(index: 0) })
        for try await names in lists {
            print(names)
        }
        // end syncing
    }

    /// What `make up` says to `powersync-stack up`, with files that are found from anywhere.
    private static func arguments() throws -> [String] {
        let makefile = try Repository.text("Makefile")
        try #require(makefile.contains("up $(or $(ARGS),$(if $(DATABASE_URI),,$(EXAMPLE)))\n"))
        let example = try #require(makefile.firstMatch(of: /\nEXAMPLE := (.+)\n/), "it names no example")
        return example.1.split(separator: " ").map { word in
            word.hasPrefix("Examples/") ? "\(Repository.root.path)/\(word)" : String(word)
        }
    }

    @Test func whatTheProgramWritesIsInPostgresAndStays() async throws {
        try await EndToEnd.withFolder { folder, temporary in
            let up = try StackProcess(
                ["up"] + Self.arguments() + ["--backend-port", "0", "--service-port", "0"],
                temporary: temporary)
            let places = try await up.endpoints()
            let poller = try Poller()
            defer { poller.stop() }
            let postgres = try await PostgresConnection.connect(places.postgres, poller: poller)

            let printed = Lock<[String]>([])
            let database = try await Self.program(file: folder + "/lists.db") { text in
                printed.withLock { $0.append(text) }
            }
            #expect(printed.withLock { $0 } == ["1 × Books"])

            let seen = Lock<[String]>([])
            let connector = BackendConnector(url: places.backend, user: "alice")
            // The loop goes on until its task is cancelled.
            let running = Task {
                try await Self.sync(database, with: connector) { names in seen.withLock { $0 = names } }
            }
            defer { running.cancel() }
            try await wait(
                for: "Postgres to have what the program wrote",
                read: { try await postgres.query("SELECT owner_id FROM lists WHERE name = 'Books'").scalar },
                until: { $0 == "alice" })
            // With the next checkpoint a row goes that the backend has refused.
            _ = try await postgres.query(
                "INSERT INTO lists (id, owner_id, name) VALUES (gen_random_uuid(), 'alice', 'Later')")
            try await wait(
                for: "a later row", read: { seen.withLock { $0 } }, until: { $0.contains("Later") })
            #expect(seen.withLock { $0.sorted() } == ["Books", "Groceries", "Later"])

            running.cancel()
            try await running.value
            try await database.close()
            await postgres.close()
            up.process.signal(SIGTERM)
            #expect(try await up.end() == .exited(0))
        }
    }

    @Test func theReadmeShowsTheseSteps() throws {
        let readme = try Repository.text("README.md")
        #expect(readme.contains("\n```sh\nmake up\n```\n"))
        let shown = readme.components(separatedBy: "\n```")
            .filter { $0.hasPrefix("swift\nimport PowerSync\n") }
        #expect(shown.count == 1)
        let lines = try #require(shown.first).split(separator: "\n", omittingEmptySubsequences: false)
        try #require(lines.count > 4)
        #expect(lines[3].hasPrefix("let file = \"lists.db\"  // "))
        #expect(try lines[4..<(lines.count - 1)].elementsEqual(Self.code("program")))
        #expect(lines.last == "try await database.close()")

        let syncing = try Self.code("syncing").joined(separator: "\n")
        #expect(readme.contains("\n\(syncing)\n```\n"))
        let url = "http://127.0.0.1:\(UpOptions().backendPort)"
        #expect(readme.contains("`BackendConnector(url: \"\(url)\", user: \"alice\")`"))
    }

    /// The lines of this file between two marks, as they are without their indentation.
    private static func code(_ name: String) throws -> [Substring] {
        let lines = try Repository.text("Tests/EndToEndTests/ReadmeStepsTests.swift")
            .split(separator: "\n", omittingEmptySubsequences: false)
        let begin = try #require(lines.firstIndex { $0.hasSuffix("// begin \(name)") })
        let end = try #require(lines.firstIndex { $0.hasSuffix("// end \(name)") })
        return lines[(begin + 1)..<end].map { $0.dropFirst(8) }
    }
}
