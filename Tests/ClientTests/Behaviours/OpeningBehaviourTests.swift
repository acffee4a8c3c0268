import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Client-api 7 M: what the tests beside their sources do not say of it; the numbers are those of that section.
@Suite(.patient())
struct OpeningBehaviourTests {
    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    @Test("172 An absolute path in folders that are missing is made, read by others, and removed")
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

    @Test("173 Closing keeps a database in the default folder, deleting removes all its files")
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

    @Test("180 Opening is logged once, as a detail, and who wants errors alone gets no warning")
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
