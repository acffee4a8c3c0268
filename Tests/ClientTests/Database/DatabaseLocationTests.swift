import Foundation
import PowerSyncSQLite
import PowerSyncSystem
import Testing

@testable import PowerSync

struct DatabaseLocationTests {
    @Test func namesWithoutAPathGoToTheDirectoryOfTheVariable() throws {
        let folder = try TemporaryDirectory()
        let environment = ["POWERSYNC_DATA_DIR": folder.path]
        #expect(
            try DatabaseLocation(named: "a/b.db", environment: environment)
                == DatabaseLocation(named: folder.file("a/b.db"), environment: [:]))
        #expect(throws: PowerSyncError.self) {
            try DatabaseLocation(named: "b.db", environment: ["POWERSYNC_DATA_DIR": "relative"])
        }
    }

    @Test func programsOfOneUserDoNotShareADatabase() throws {
        guard case .file(let path, _) = try DatabaseLocation(named: "powersync.db", environment: [:]) else {
            Issue.record("Not a file")
            return
        }
        #expect(path.hasSuffix("/databases/powersync.db"))
        #expect(path.contains(ProcessInfo.processInfo.processName))
    }

    @Test func oneFileHasOnePathHoweverItIsWritten() throws {
        let folder = try TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: folder.file("real"), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link"), withDestinationPath: folder.file("real"))
        let paths = ["real/x.db", "real/../real/x.db", "./real//x.db", "link/x.db"]
        let locations = try Set(paths.map { try DatabaseLocation(named: folder.file($0)) })
        #expect(locations.count == 1)
        try Data().write(to: URL(fileURLWithPath: folder.file("real/x.db")))
        #expect(try DatabaseLocation(named: folder.file("link/x.db")) == locations.first)
    }

    /// As the system and SQLite do, so that the file that is named is the one that is opened.
    @Test func whatIsAboveALinkIsAboveWhereItPoints() async throws {
        let folder = try TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: folder.file("real/deep"), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link"), withDestinationPath: folder.file("real/deep"))
        let name = folder.file("link/../x.db")
        let location = try DatabaseLocation(named: name)
        #expect(try location == DatabaseLocation(named: folder.file("real/x.db")))
        #expect(try location != DatabaseLocation(named: folder.file("x.db")))
        guard case .file(name, _) = location else {
            Issue.record("The path is not as it was named: \(location)")
            return
        }
        let test = try TestDatabase(folder: folder, name: "link/../x.db")
        try await test.insertUser("A")
        try await test.database.close()
        #expect(FileManager.default.fileExists(atPath: folder.file("real/x.db")))
        #expect(!FileManager.default.fileExists(atPath: folder.file("x.db")))
    }

    @Test func aLinkIsTheFileThatItLeadsToAlsoBeforeThatIsThere() async throws {
        let folder = try TemporaryDirectory()
        let files = FileManager.default
        try files.createDirectory(atPath: folder.file("links"), withIntermediateDirectories: true)
        try files.createSymbolicLink(
            atPath: folder.file("links/x.db"), withDestinationPath: "../other.db")
        try files.createSymbolicLink(
            atPath: folder.file("other.db"), withDestinationPath: folder.file("real.db"))
        let (link, real) = try (
            DatabaseLocation(named: folder.file("links/x.db")),
            DatabaseLocation(named: folder.file("real.db"))
        )
        #expect(link == real)
        #expect(link.files == real.files)
        #expect(link.files.last?.hasSuffix("/real.db-sync") == true)
        let test = try TestDatabase(folder: folder, name: "links/x.db")
        try await test.insertUser("A")
        #expect(files.fileExists(atPath: folder.file("real.db-wal")))
        try await test.database.close(deleteDatabase: true)
        #expect(!files.fileExists(atPath: folder.file("real.db")))
        #expect(!files.fileExists(atPath: folder.file("real.db-wal")))
    }

    @Test func linksThatLeadToEachOtherComeToAnEnd() throws {
        let folder = try TemporaryDirectory()
        for (name, target) in [("a", "b"), ("b", "a")] {
            try FileManager.default.createSymbolicLink(
                atPath: folder.file(name), withDestinationPath: target)
        }
        #expect(try DatabaseLocation(named: folder.file("a/x.db")).resolved?.hasSuffix("/x.db") == true)
    }

    #if !canImport(Darwin)
        /// So it is for the system; file systems of Apple take two spellings of a character for one.
        @Test(arguments: [("caf\u{e9}.db", "cafe\u{301}.db"), ("K.db", "\u{212A}.db")])
        func namesThatAreOnlySpelledAlikeAreTwoFiles(_ first: String, _ second: String) async throws {
            let folder = try TemporaryDirectory()
            let locations = try [first, second].map { try DatabaseLocation(named: folder.file($0)) }
            #expect(Set(locations).count == 2)
            let a = try TestDatabase(folder: folder, name: first)
            let b = try TestDatabase(folder: folder, name: second)
            try await a.insertUser("A")
            #expect(try await b.count("users") == 0)
            try await a.database.close()
            try await b.database.close()
            for location in locations {
                let path = try #require(location.files.first)
                #expect(FileManager.default.fileExists(atPath: path))
            }
        }
    #endif

    @Test func identifiersThatAreOnlySpelledAlikeAreTwoDatabases() {
        let locations = ["\u{e9}", "e\u{301}", "K", "\u{212A}"].map { DatabaseLocation.pool(identifier: $0) }
        #expect(Set(locations).count == 4)
    }

    @Test func aPathIsAbsoluteWhateverComesBehindItsSlash() throws {
        let environment = ["POWERSYNC_DATA_DIR": "relative"]
        let location = try DatabaseLocation(named: "/\u{301}x.db", environment: environment)
        #expect(location.resolved == "/\u{301}x.db")
    }

    @Test func memoryIsNoFile() throws {
        #expect(try DatabaseLocation(named: ":memory:") == .memory)
        #expect(try DatabaseLocation(named: ":memory:").files.isEmpty)
    }

    @Test func openingIsRetriedWithGrowingDelaysForAsLongAsTheBudgetLasts() {
        let policy = OpenRetryPolicy()
        let busy = SQLiteError(code: .busy, message: "database is locked")
        let delays = (1...7).map { policy.delay(after: busy, attempt: $0, elapsed: .zero) }
        #expect(
            delays == [10, 20, 40, 80, 160, 250, 250].map { .milliseconds($0) })
        #expect(policy.delay(after: busy, attempt: 9, elapsed: .milliseconds(4751)) == nil)
        #expect(
            policy.delay(after: SQLiteError(code: .locked, message: ""), attempt: 1, elapsed: .zero) != nil)
        #expect(
            policy.delay(after: SQLiteError(code: .corrupt, message: ""), attempt: 1, elapsed: .zero) == nil)
        #expect(policy.delay(after: CancellationError(), attempt: 1, elapsed: .zero) == nil)
    }
}
