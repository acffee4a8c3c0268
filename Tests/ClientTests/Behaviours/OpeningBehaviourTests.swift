import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Client-api 7 M: what the tests beside their sources do not say of it.
@Suite(.patient())
struct OpeningBehaviourTests {
    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    @Test(
        "An absolute path in folders that are missing is made, read by others, and removed", .behaviour(172))
    func anAbsolutePathIsMade() async throws {
        let folder = try TemporaryDirectory()
        let name = "missing/deep/er.db"
        let first = try TestDatabase(folder: folder, name: name)
        try await first.insertUser("A")
        #expect(exists(folder.file(name)))
        let second = try TestDatabase(folder: folder, name: name)
        #expect(try await second.count("users") == 1)
        try await first.database.close()
        #expect(exists(folder.file(name)))
        try await second.database.close(deleteDatabase: true)
        #expect(!exists(folder.file(name)))
    }

    @Test("Closing keeps a database in the default folder, deleting removes all its files", .behaviour(173))
    func deletingRemovesAllFiles() async throws {
        let folder = try TemporaryDirectory()
        func open() throws -> LocalDatabase {
            LocalDatabase(
                schema: TestDatabase.schema,
                location: .success(
                    try DatabaseLocation(
                        named: "named.db", environment: [DatabaseLocation.directoryVariable: folder.path])),
                logger: DefaultLogger(writers: []), initialStatements: [], groups: .shared)
        }
        let path = folder.file("named.db")
        let kept = try open()
        try await kept.execute("INSERT INTO users (id, name) VALUES ('1', 'A')")
        try await kept.close()
        #expect(exists(path))
        let removed = try open()
        #expect(try await removed.get("SELECT count(*) FROM users") { try $0.getInt(index: 0) } == 1)
        try await removed.execute("INSERT INTO users (id, name) VALUES ('2', 'B')")
        // As one of a time before the write-ahead log may be left.
        try Data().write(to: URL(fileURLWithPath: path + "-journal"))
        for ending in ["", "-wal", "-shm", "-journal"] { #expect(exists(path + ending), "\(ending)") }
        try await removed.close(deleteDatabase: true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    /// One that was closed is in `GroupTests`.
    @Test("An instance that was let go of is none beside the next one", .behaviour(177))
    func whatWasLetGoOfIsNoInstance() async throws {
        let folder = try TemporaryDirectory()
        let isGone: () -> Bool
        do {
            let first = try TestDatabase(folder: folder)
            try await first.insertUser("A")
            let group = try #require(first.database as? LocalDatabase).group
            isGone = { [weak group] in group == nil }
        }
        // Its connections close a moment later.
        try await wait(for: "the file to be let go of") { isGone() }
        let next = try TestDatabase(folder: folder)
        #expect(next.log.warnings(containing: "Multiple PowerSync instances") == 0)
        #expect(try await next.count("users") == 1)
        try await next.database.close()
    }

    @Test("Opening is logged once, as a detail, and who wants errors alone gets no warning", .behaviour(180))
    func openingIsLoggedOnce() async throws {
        let folder = try TemporaryDirectory()
        let first = try TestDatabase(folder: folder)
        for _ in 0..<3 { _ = try await first.count("users") }
        let opened = first.log.lines.filter { $0.message.contains("Opened connection") }
        #expect(opened.map(\.severity) == [.debug])
        #expect(opened.first?.message.hasPrefix("Opened connection. SQLite version ") == true)
        #expect(opened.first?.tag == "PowerSyncDatabase")
        let writer = RecordingWriter(keeping: folder)
        // Of a second instance there is a warning.
        let second = PowerSyncDatabase(
            schema: TestDatabase.schema, dbFilename: folder.file(),
            logger: DefaultLogger(minSeverity: .error, writers: [writer]))
        #expect(try await second.get("SELECT count(*) FROM users") { try $0.getInt(index: 0) } == 0)
        #expect(writer.lines.isEmpty)
        try await second.close()
        try await first.database.close()
    }
}
