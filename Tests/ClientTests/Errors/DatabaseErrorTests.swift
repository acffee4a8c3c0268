import Foundation
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// What calls throw when the database fails or the call is wrong.
@Suite(.patient()) struct DatabaseErrorTests {
    private func check(
        _ error: PowerSyncError?, _ code: PowerSyncError.Code, _ text: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let error = try #require(error, sourceLocation: sourceLocation)
        #expect(error.code == code, sourceLocation: sourceLocation)
        let localized = error.localizedDescription
        #expect(localized.hasPrefix(text), "\(localized)", sourceLocation: sourceLocation)
        #expect(!shownTexts(of: error).contains("secret"), sourceLocation: sourceLocation)
    }

    // MARK: The file

    @Test func aFileThatAnotherHolds() async throws {
        let folder = try TemporaryDirectory()
        let holder = try SQLiteConnection(path: folder.file())
        defer { holder.close() }
        try holder.execute("CREATE TABLE plain (id); BEGIN IMMEDIATE; INSERT INTO plain VALUES (1)")
        var environment = SyncEnvironment.system()
        environment.opening.budget = .zero
        let test = try TestDatabase(folder: folder, environment: environment)
        let error = await #expect(throws: PowerSyncError.self) { try await test.count("users") }
        try check(error, .databaseBusy, "SQLite failure (code 5): database is locked")
        try await test.database.close()
    }

    /// A database that must not grow any more.
    private func fullDatabase() async throws -> TestDatabase {
        let test = try TestDatabase()
        try await test.database.writeLock { connection in
            // At least as many as there are: SQLite takes the greater number.
            _ = try connection.get(sql: "PRAGMA max_page_count = 1", parameters: []) { cursor in
                try cursor.getInt(index: 0)
            }
        }
        return test
    }

    private static let large = "secret" + String(repeating: "x", count: 1 << 20)

    @Test func aDatabaseThatIsFull() async throws {
        let test = try await fullDatabase()
        let error = await #expect(throws: PowerSyncError.self) {
            try await test.database.execute(
                sql: "INSERT INTO users (id, name) VALUES (?, ?)", parameters: ["u", Self.large])
        }
        try check(error, .databaseFull, "SQLite failure (code 13): database or disk is full")
        try await test.database.close()
    }

    @Test func aDatabaseThatIsFullOfDownloadedRows() async throws {
        let server = try RawServer { connection in
            guard connection.request() != nil else { return }
            let lines = [
                SyncLines.checkpoint(1, [.init("b", checksum: 5)]),
                SyncLines.data(
                    "b",
                    SyncLines.put(1, "u", checksum: 5, type: "users", data: "{\"name\":\"\(Self.large)\"}")),
                SyncLines.complete(1),
            ]
            connection.send(String.chunkedHead)
            connection.chunk(lines.map { $0 + "\n" }.joined())
            connection.waitForHangUp()
        }
        let test = try await fullDatabase()
        try await test.database.connect(connector: TestConnector(endpoint: server.url()), retryDelay: 0.02)
        var shown: PowerSyncError?
        for await status in test.database.currentStatus.asFlow() {
            guard let error = status.downloadError else { continue }
            shown = error as? PowerSyncError
            break
        }
        try check(shown, .databaseFull, "SQLite failure (code 13): database or disk is full")
        #expect(server.connections > 0)
        try await test.database.close()
    }

    @Test func aFileThatIsDamaged() async throws {
        let folder = try TemporaryDirectory()
        let first = try TestDatabase(folder: folder)
        try await first.insertUser("secret")
        try await first.database.close()
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: folder.file()))
        // Behind the header of the file, where the list of tables begins.
        try file.seek(toOffset: 100)
        try file.write(contentsOf: Data(repeating: 0xFF, count: 3_996))
        try file.close()
        let test = try TestDatabase(folder: folder)
        let error = await #expect(throws: PowerSyncError.self) { try await test.count("users") }
        try check(error, .databaseCorrupt, "SQLite failure (code 11): database disk image is malformed")
        try await test.database.close()
    }

    @Test func aFileThatIsNoDatabase() async throws {
        let folder = try TemporaryDirectory()
        try Data(String(repeating: "secret. ", count: 512).utf8).write(
            to: URL(fileURLWithPath: folder.file()))
        let test = try TestDatabase(folder: folder)
        let error = await #expect(throws: PowerSyncError.self) { try await test.count("users") }
        try check(error, .notADatabase, "SQLite failure (code 26): file is not a database")
        try await test.database.close()
    }

    #if os(Linux)
        @Test func aFileThatCannotBeRemoved() async throws {
            // Nobody may remove it, not even root.
            let database = PowerSyncDatabase(
                schema: Schema(), dbFilename: "/proc/version", logger: DefaultLogger(writers: []))
            let error = await #expect(throws: PowerSyncError.self) {
                try await database.close(deleteDatabase: true)
            }
            try check(error, .fileAccess, "Could not remove /proc/version: ")
        }
    #endif

    /// What a function of SQLite says of the value it was given.
    @Test(arguments: [
        ("SELECT json_extract('{}', ?)", ["secret"]), ("SELECT json_extract('{}', name) FROM users", []),
    ])
    func anErrorThatQuotesAValue(_ sql: String, _ parameters: [String]) async throws {
        let test = try TestDatabase()
        try await test.database.execute("INSERT INTO users (id, name) VALUES ('u', 'secret')")
        let error = await #expect(throws: PowerSyncError.self) {
            try await test.database.getAll(sql: sql, parameters: parameters) { try $0.getString(index: 0) }
        }
        try check(error, .invalidStatement, "SQLite failure (code 1): SQL logic error for SQL: \(sql)")
        try await test.database.close()
    }

    /// What SQLite says of a value without quoting it.
    @Test(
        arguments: [
            ("INSERT INTO users (id, name) VALUES ('u', x'00')", [], "JSON cannot hold BLOB values"),
            ("SELECT json(?)", ["secret"], "malformed JSON"),
            ("SELECT abs(-9223372036854775807 - 1) + length(?)", ["secret"], "integer overflow"),
            ("SELECT 'a' LIKE 'a' ESCAPE ?", ["secret"], "ESCAPE expression must be a single character"),
            ("VACUUM", [], "cannot VACUUM from within a transaction"),
            (
                "ALTER TABLE plain ADD COLUMN b NOT NULL", [],
                "Cannot add a NOT NULL column with default value NULL"
            ),
        ] as [(String, [String], String)])
    func anErrorThatQuotesNoValueIsToldWhole(
        _ sql: String, _ parameters: [String], _ message: String
    ) async throws {
        let test = try TestDatabase()
        try await test.database.execute("CREATE TABLE plain (a)")
        try await test.database.execute("INSERT INTO plain VALUES ('secret')")
        let error = await #expect(throws: PowerSyncError.self) {
            try await test.database.writeTransaction { transaction in
                try transaction.execute(sql: sql, parameters: parameters)
            }
        }
        try check(
            error, .invalidStatement, "SQLite failure (code 1): SQL logic error, \(message) for SQL: \(sql)")
        try await test.database.close()
    }

    // MARK: The upload queue

    @Test func anEntryOfTheQueueThatCannotBeRead() async throws {
        let entries: [(data: String?, text: String)] = [
            ("secret, no JSON", "Entry 1 of the upload queue is not JSON: "),
            (#"{"secret":1}"#, "Entry 1 of the upload queue lacks op, type or id"),
            (nil, "Entry 1 of the upload queue is empty"),
        ]
        for (data, text) in entries {
            let test = try TestDatabase()
            try await test.database.execute(
                sql: "INSERT INTO ps_crud (tx_id, data) VALUES (1, ?)", parameters: [data])
            let batch = await #expect(throws: PowerSyncError.self) { try await test.database.getCrudBatch() }
            try check(batch, .unreadableQueueEntry, text)
            let transaction = await #expect(throws: PowerSyncError.self) {
                try await test.database.getNextCrudTransaction()
            }
            try check(transaction, .unreadableQueueEntry, text)
            try await test.database.close()
        }
    }

    // MARK: Calls

    @Test func aCallThatIsWrong() async throws {
        let test = try TestDatabase()
        let database = test.database
        try await test.insertUser("secret", id: "u")
        let calls: [(PowerSyncError.Code, String, @Sendable () async throws -> Void)] = [
            (
                .invalidStatement, "SQLite failure (code 1): SQL logic error",
                { _ = try await database.execute("SELECT 1 FROM usersfail") }
            ),
            (.invalidStatement, "", { _ = try await database.execute("") }),
            (
                .constraintViolation, "SQLite failure (code ",
                { try await test.insertUser("secret", id: "u") }
            ),
            (
                .readOnly, "SQLite failure (code 8): attempt to write a readonly database",
                { _ = try await database.getAll("DELETE FROM ps_kv") { _ in 1 } }
            ),
            (
                .invalidArgument, "Invalid parameter, expected ",
                { _ = try await database.execute(sql: "SELECT ?", parameters: [UInt8(1)]) }
            ),
            (
                .missingRow, "Expected SELECT 1 WHERE 0 to return a row, but got an empty result set.",
                { _ = try await database.get("SELECT 1 WHERE 0") { _ in 1 } }
            ),
            (
                .missingRow, "Expected PRAGMA rekey … to return a row",
                { _ = try await database.get("PRAGMA rekey = 'secret'") { _ in 1 } }
            ),
            (
                .invalidArgument, "A priority code must not be negative",
                { try await database.waitForFirstSync(priority: -1) }
            ),
        ]
        for (code, text, call) in calls {
            let error = await #expect(throws: PowerSyncError.self) { try await call() }
            try check(error, code, text)
        }
        try await database.close()
        let closed = await #expect(throws: PowerSyncError.self) { try await test.count("users") }
        try check(closed, .closed, "Attempted to use closed PowerSync database")
        #expect(closed?.localizedDescription == "Attempted to use closed PowerSync database")
    }

    @Test func anErrorOfTheAppHasTheCodeOfTheOneBelow() {
        let below = PowerSyncError.sqliteError(extendedResultCode: 2067)
        #expect(below.code == .constraintViolation)
        #expect(
            PowerSyncError.operationFailed(message: "x", underlyingError: below).code == .constraintViolation)
        #expect(PowerSyncError.operationFailed(message: "x").code == .other)
        #expect(PowerSyncError.operationFailed(underlyingError: TestError(text: "x")).code == .other)
        #expect(PowerSyncError.sqliteError(extendedResultCode: 9999).code == .database)
    }
}
