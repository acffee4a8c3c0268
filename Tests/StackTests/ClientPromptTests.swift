import Foundation
import PowerSync
import PowerSyncSQLite
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTerminal
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What a prompt makes of a script, in this process and without a service.
@Suite(.patient())
struct ClientPromptTests {
    /// What a script has shown.
    private struct Shown {
        let status: Int32?
        /// What was shown, without times.
        let output: String
        let errors: [String]
    }

    private static let schema = Schema(
        Table(name: "items", columns: [.text("name"), .integer("n")]),
        Table(name: "drafts", columns: [.text("name")], localOnly: true))

    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory(prefix: "prompt-") }

    private var database: String { folder.path + "/c.db" }

    /// Runs a script to its end; with the query of the ids of files, if there are any.
    private func run(
        _ script: String, schema: Schema = Self.schema, attachments: String? = nil,
        peer: ScriptedPeer? = nil
    ) async throws -> Shown {
        try await run(bytes: Data(script.utf8), schema: schema, attachments: attachments, peer: peer)
    }

    /// Runs a script, be it a text or not, to its end.
    ///
    /// - Parameters:
    ///   - script: the script.
    ///   - schema: the tables.
    ///   - attachments: the query of the ids of files, if there are any.
    ///   - peer: the service and the backend; nil for none.
    ///   - write: called for what is shown, before that is kept.
    /// - Returns: what it has shown.
    /// - Throws: what the run throws.
    private func run(
        bytes script: Data, schema: Schema = Self.schema, attachments: String? = nil,
        peer: ScriptedPeer? = nil,
        write: @escaping @Sendable (String) throws -> Void = { _ in }
    ) async throws -> Shown {
        let file = folder.path + "/script-\(UUID().uuidString)"
        try script.write(to: URL(filePath: file))
        let input = open(file, O_RDONLY | O_CLOEXEC)
        defer { close(input) }
        var options = ClientOptions(
            database: database, schema: schema, endpoint: "http://127.0.0.1:1", login: .token("t"))
        if let attachments {
            options.schema = Schema(
                tables: schema.tables + [createAttachmentTable(name: defaultAttachmentsTableName)])
            options.login = .user("u", backend: "http://127.0.0.1:1")
            options.attachments = AttachmentOptions(attachments)
        }
        if let peer {
            options.endpoint = peer.url
            options.login = .user("u", backend: peer.url)
        }
        let chosen = options
        let lines = Lock<[String]>([])
        let errors = Lock<[String]>([])
        let status = try await Session.run(
            until: AsyncStream { _ in }, closingWithin: TestOptions.deadline,
            thenWithin: TestOptions.deadline
        ) { session in
            try await ClientPrompt.runScript(
                chosen, input: input,
                write: { line in
                    try write(line)
                    lines.withLock { $0.append(line) }
                }, errors: { error in errors.withLock { $0.append(error) } }, session: session)
        }
        let output = lines.withLock { $0 }.joined(separator: "\n")
        return Shown(
            status: status, output: output.replacing(#/, [0-9.]+ ms/#, with: ""),
            errors: errors.withLock { $0 })
    }

    /// Runs a prompt at which a test types, until it types the end.
    private func prompt(
        _ console: TypedConsole, signals: PromptSignals = PromptSignals(),
        endpoint: String = "http://127.0.0.1:1", login: ClientOptions.Login = .token("t"),
        transport: TransportOptions? = nil
    ) -> Task<Int32?, any Error> {
        var made = ClientOptions(
            database: database, schema: Self.schema, endpoint: endpoint, login: login)
        made.transport = transport
        let options = made
        return Task {
            try await Session.run(
                until: AsyncStream { _ in }, closingWithin: TestOptions.deadline,
                thenWithin: TestOptions.deadline
            ) { session in
                try await ClientPrompt.run(options, console: console, signals: signals, session: session)
            }
        }
    }

    // MARK: SQL

    @Test func statementsGiveTables() async throws {
        let shown = try await run(
            """
            CREATE TABLE plain (a, b);
            INSERT INTO plain VALUES (1, 'x'), (2, NULL);
            SELECT a, b
            FROM plain -- both
            ORDER BY a; SELECT a FROM plain WHERE a > 5;
            UPDATE plain SET b = 'y' WHERE a = 2 RETURNING a, b;
            DELETE FROM plain
            """)
        #expect(shown.errors.isEmpty)
        #expect(shown.status == 0)
        #expect(
            shown.output == """
                (done)
                (2 rows changed)
                a | b
                --+-----
                1 | x
                2 | NULL
                (2 rows)
                (no rows)
                a | b
                --+--
                2 | y
                (1 row)
                (2 rows changed)
                """)
    }

    @Test func anErrorHasItsLineAndTheRestIsDone() async throws {
        let shown = try await run(
            """
            SELECT 1 AS one;

            SELECT
              absent;
            SELEC 1; SELECT 2 AS two;
            """)
        #expect(shown.status == 1)
        #expect(
            shown.errors == [
                "error: line 3: no such column: absent", "error: line 5: near \"SELEC\": syntax error",
            ])
        #expect(shown.output == "one\n---\n  1\n(1 row)\ntwo\n---\n  2\n(1 row)")
    }

    @Test func aWriteThroughAViewIsQueuedAndWhatBeginsAsAQueryMayWrite() async throws {
        let shown = try await run(
            """
            INSERT INTO items (id, name, n) VALUES ('a', 'Groceries', 1);
            WITH more(x) AS (VALUES ('b'), ('c')) INSERT INTO items (id, name) SELECT x, x FROM more;
            SELECT name FROM items ORDER BY id;
            .queue
            """)
        #expect(shown.errors.isEmpty)
        #expect(shown.output.hasPrefix("(done)\n(done)\nname\n---------\nGroceries\nb\nc\n(3 rows)\n"))
        #expect(shown.output.contains(#"| PUT | items | a  | {"n":1,"name":"Groceries"}"#))
        #expect(shown.output.contains("(3 changes to upload, about "))
    }

    @Test(arguments: ["BEGIN", "commit", "ROLLBACK", "SAVEPOINT s"])
    func transactionsOfSeveralStatementsAreRefused(sql: String) async throws {
        let shown = try await run("\(sql);\nSELECT 1 AS one;")
        let word = sql.split(separator: " ")[0].uppercased()
        #expect(
            shown.errors == [
                "error: line 1: \(word): each statement is a transaction of its own here; "
                    + "client --json has transactions of several"
            ])
        #expect(shown.output.hasSuffix("(1 row)"))
    }

    @Test(arguments: [
        ("create  temporary TABLE t (a)", "CREATE TEMP"), ("CREATE TEMP VIEW v AS SELECT 1", "CREATE TEMP"),
        ("ATTACH ':memory:' AS other", "ATTACH"), ("DETACH other", "DETACH"),
    ])
    func whatIsOfOneConnectionIsRefused(sql: String, word: String) async throws {
        let shown = try await run("\(sql);\nCREATE TABLE temporary (a);")
        #expect(
            shown.errors == [
                "error: line 1: \(word): queries have connections of their own here, which would not see it"
            ])
        #expect(shown.output == "(done)")
    }

    /// One of several that read would take what is set, and others answer; and none of them has a log to copy.
    @Test func aPragmaIsForTheConnectionThatWrites() async throws {
        let settings = (1...8).map { "PRAGMA cache_size = -\($0)00; PRAGMA cache_size;" }
        let shown = try await run(
            "PRAGMA wal_checkpoint;\nPRAGMA foreign_keys = ON;\nPRAGMA foreign_keys;\n"
                + settings.joined(separator: "\n"))
        #expect(shown.errors.isEmpty)
        #expect(shown.output.contains("busy | log | checkpointed"))
        #expect(shown.output.contains("foreign_keys\n------------\n           1\n(1 row)"))
        for size in 1...8 { #expect(shown.output.contains("      -\(size)00\n(1 row)")) }
    }

    @Test func vacuumIsInNoTransaction() async throws {
        let shown = try await run(
            "INSERT INTO items (id, name) VALUES ('a', 'one');\n VACUUM;\nSELECT name FROM items;")
        #expect(shown.errors.isEmpty)
        #expect(shown.output == "(done)\n(done)\nname\n----\none\n(1 row)")
    }

    /// The prompt has nothing but the text of an error.
    @Test func anErrorOfAFunctionHasItsReason() async throws {
        let shown = try await run("INSERT INTO items (id, name) VALUES ('a', x'00');\nSELECT json('{');")
        #expect(
            shown.errors == ["error: line 1: JSON cannot hold BLOB values", "error: line 2: malformed JSON"])
    }

    @Test func aScriptShowsAllRowsWhole() async throws {
        let long = String(repeating: "long ", count: 100)
        let shown = try await run(
            """
            WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c WHERE n < 2500) SELECT n FROM c;
            SELECT '\(long)' AS text;
            """)
        #expect(shown.output.contains("2500\n(2500 rows)"))
        #expect(shown.output.contains(long))
    }

    @Test func aResultThatIsTooLargeForAScriptIsAnError() async throws {
        let shown = try await run(
            """
            CREATE TABLE plain (a);
            INSERT INTO plain VALUES (1), (2) RETURNING zeroblob(40000000) AS bytes;
            SELECT count(*) AS count FROM plain;
            """)
        let message = "the result has more than 64 MiB; LIMIT and OFFSET ask for a part of it"
        #expect(shown.errors == ["error: line 2: \(message)"])
        // It is undone as by any other error.
        #expect(shown.output == "(done)\ncount\n-----\n    0\n(1 row)")
    }

    /// A person sees the first rows, of a watched query, too: so many, and so many bytes of them but for the first one.
    @Test(arguments: [
        ("SELECT value FROM json_each('[1,2,3,4]');", "(the first 3 of 4 rows, "),
        ("SELECT value FROM json_each('[1,2,3]');", "(3 rows, "),
        ("SELECT zeroblob(2000000) AS bytes FROM json_each('[1,2,3]');", "(the first 2 of 3 rows, "),
        ("SELECT zeroblob(9000000) AS bytes FROM json_each('[1,2]');", "(the first 1 of 2 rows, "),
        (".watch SELECT value FROM json_each('[1,2,3,4]')", "(watch 1: 4 rows, the first 3 shown)"),
        (".watch SELECT value FROM json_each('[1,2,3]')", "(watch 1: 3 rows)"),
    ])
    func ofManyRowsTheFirstAreShown(line: String, summary: String) async throws {
        let console = TypedConsole(rowLimit: 3)
        let run = prompt(console)
        console.type(.text(line, number: 1))
        try await wait(for: summary, read: { console.shown }) { shown in
            shown.contains { $0.contains(summary) }
        }
        console.type(.end)
        #expect(try await wait(forEndOf: run) == 0)
    }

    @Test func nothingInARowActsOnTheTerminal() async throws {
        let shown = try await run("SELECT char(27) || '[31mred' || char(10) AS \"\u{1B}[2Jname\";")
        #expect(shown.output == "\\x1b[2Jname\n-------------\n\\x1b[31mred\\n\n(1 row)")
    }

    /// Without its middle the first statement would be another one, which removes all rows.
    @Test func aStatementOfWhichALineIsNoTextDoesNotRun() async throws {
        let script = """
            INSERT INTO items (id, name) VALUES ('a', 'one');
            DELETE FROM items
            WHERE name = '?'
            ;
            .watch '?
            SELECT count(*) AS count FROM items;
            """
        let shown = try await run(bytes: Data(script.utf8.map { $0 == UInt8(ascii: "?") ? 0xFF : $0 }))
        #expect(
            shown.errors == [
                "error: line 2: what stands on line 3 is not a text in UTF-8",
                "error: line 5: what stands on line 5 is not a text in UTF-8",
            ])
        #expect(shown.status == 1)
        #expect(shown.output == "(done)\ncount\n-----\n    1\n(1 row)")
    }

    @Test func aStatementWithANULDoesNotRun() async throws {
        let shown = try await run("CREATE TABLE plain (a); \0\nSELECT 1 AS one;\nSELECT 2 AS two;")
        #expect(
            shown.errors == [
                "error: line 1: what stands on line 1 has a NUL, behind which SQLite reads nothing",
                "error: line 1: what stands on line 1 has a NUL, behind which SQLite reads nothing",
            ])
        #expect(shown.output == "two\n---\n  2\n(1 row)")
    }

    @Test func aLineOfAScriptMayBeNoText() async throws {
        let file = folder.path + "/bytes"
        #expect(
            FileManager.default.createFile(
                atPath: file, contents: Data([0x53, 0xFF, 0x0A]) + Data("SELECT 1 AS one;\n".utf8)))
        let input = open(file, O_RDONLY | O_CLOEXEC)
        defer { close(input) }
        let console = ScriptConsole(input: input, output: AnswerOutput { _ in }, errors: { _ in })
        #expect(try await console.line() == .bytes([0x53, 0xFF], number: 1))
        #expect(try await console.line() == .text("SELECT 1 AS one;", number: 2))
        #expect(try await console.line() == .end)
    }

    // MARK: Commands

    @Test func theTablesAndTheirColumns() async throws {
        let shown = try await run(
            """
            CREATE TABLE plain (a INTEGER, b);
            .tables
            .schema ITEMS
            .schema absent
            """)
        #expect(
            shown.output == """
                (done)
                table  | kind
                -------+-----------
                drafts | local only
                items  | synced
                plain  | not synced
                table | column | type
                ------+--------+--------
                items | id     | text
                items | name   | text
                items | n      | integer
                """)
        #expect(shown.errors == ["error: line 4: there is no table absent; .tables lists them"])
    }

    @Test func aTableMayBeginAsThoseOfTheSDKDo() async throws {
        let schema = Schema(
            Table(name: "ps_notes", columns: [.text("name")]),
            Table(name: "PS_Other", columns: [.integer("n")], localOnly: true),
            Table(name: "ps_data__x", columns: [.text("name")]),
            Table(name: "items", columns: [.text("name")], viewNameOverride: "ps_data_local__y"),
            RawTable(name: "ps_raw", schema: RawTableSchema(), clear: "DELETE FROM ps_raw"))
        let shown = try await run(
            """
            CREATE TABLE ps_raw (id TEXT NOT NULL PRIMARY KEY, name TEXT);
            .tables
            .schema ps_notes
            .schema ps_raw
            .schema ps_crud
            """, schema: schema)
        #expect(
            shown.output == """
                (done)
                table            | kind
                -----------------+-----------
                PS_Other         | local only
                ps_data__x       | synced
                ps_data_local__y | synced
                ps_notes         | synced
                ps_raw           | raw
                table    | column | type
                ---------+--------+-----
                ps_notes | id     | text
                ps_notes | name   | text
                table  | column | type
                -------+--------+-----
                ps_raw | id     | TEXT
                ps_raw | name   | TEXT
                """)
        #expect(shown.errors == ["error: line 5: there is no table ps_crud; .tables lists them"])
    }

    @Test func theStatusOfAClientThatHasNeverSynced() async throws {
        let shown = try await run(".status\n.streams\n.queue\n")
        #expect(shown.errors.isEmpty)
        #expect(
            shown.output == """
                connection   offline
                service      http://127.0.0.1:1
                database     \(database)
                last synced  never
                to upload    0 changes
                (none)
                (0 changes to upload)
                """)
    }

    @Test func aFileIsSavedListedCopiedAndDeleted() async throws {
        let (file, query) = (folder.path + "/my cat.txt", "SELECT name AS id FROM items")
        try "meow".write(toFile: file, atomically: true, encoding: .utf8)
        let saved = try await run(
            #"""
            .attach "\#(file)" INSERT INTO items (id, name) VALUES ('a', $attachment);
            SELECT count(*) AS named FROM items JOIN attachments ON attachments.id = items.name;
            .mode line
            .attachments
            """#, attachments: query)
        #expect(saved.errors.isEmpty)
        let id = saved.output.prefix { $0 != "\n" }.dropFirst("saved as ".count)
        #expect(
            saved.output == """
                saved as \(id)
                named
                -----
                    1
                (1 row)
                -[ 1 ]-
                id       | \(id)
                state    | queuedUpload
                filename | \(id).txt
                size     | 4
                error    | NULL
                """)
        let copy = folder.path + "/copy"
        let deleted = try await run(
            """
            .export \(id) '\(copy)'
            .detach \(id) DELETE FROM items WHERE name = $attachment
            .export \(id)0 \(copy)
            SELECT count(*) AS rest FROM items;
            .wait attachments 0.02
            """, attachments: query)
        #expect(try String(contentsOfFile: copy, encoding: .utf8) == "meow")
        #expect(
            deleted.output == """
                copied to \(copy)
                deleted here; the storage follows
                rest
                ----
                   0
                (1 row)
                """)
        #expect(
            deleted.errors == [
                "error: line 3: Attachment record with id \(id)0 was not found.",
                "error: line 5: The time is over: attachments has not come within 0.02 seconds",
            ])
    }

    @Test func aConnectThatFailsLeavesTheClientOffline() async throws {
        let console = TypedConsole()
        let run = prompt(
            console, transport: TransportOptions(certificateAuthorities: .file(folder.path + "/absent")))
        console.type(.text(".connect", number: 1))
        console.type(.text(".status", number: 2))
        console.type(.end)
        #expect(try await wait(forEndOf: run) == 0)
        #expect(console.failures.count == 1)
        #expect(console.shown.contains { $0.hasPrefix("connection") && $0.contains("offline") })
    }

    @Test func aPasswordInAnAddressIsNotShown() async throws {
        let console = TypedConsole()
        let run = prompt(console, endpoint: "https://alice:secret@127.0.0.1:1/sync")
        console.type(.text(".status", number: 1))
        console.type(.end)
        #expect(try await wait(forEndOf: run) == 0)
        let shown = console.shown.filter { $0.contains("https://127.0.0.1:1/sync") }
        #expect(shown.count == 2, "it welcomes, and tells the state")
        #expect(!console.shown.contains { $0.contains("secret") })
    }

    @Test func aScriptWhoseWriteIsRefusedHasFailed() async throws {
        let peer = try ScriptedPeer(results: ScriptedPeer.refusing("bad", isUndecided: false))
        // What comes behind it is uploaded when that was told.
        let shown = try await run(
            """
            .connect
            INSERT INTO items (id, name) VALUES ('bad', 'x');
            .wait queue-empty
            INSERT INTO items (id, name) VALUES ('good', 'x');
            .wait queue-empty
            """, peer: peer)
        #expect(
            shown.errors == [
                "error: upload refused: items bad: must be positive (CHECK_VIOLATION); "
                    + "its transaction has left the queue"
            ])
        #expect(shown.status == 1)
    }

    @Test func whatTheBackendLeavesToThePersonIsToldOnceAndCanBeDiscarded() async throws {
        let peer = try ScriptedPeer(results: ScriptedPeer.refusing("bad", isUndecided: true))
        let console = TypedConsole()
        let run = prompt(console, endpoint: peer.url, login: .user("u", backend: peer.url))
        console.type(.text(".discard", number: 1))
        console.type(.text(".connect", number: 2))
        console.type(.text("INSERT INTO items (id, name) VALUES ('bad', 'x');", number: 3))
        let news = """
            upload refused: items bad: must be positive (CHECK_VIOLATION); \
            its transaction stays in the queue until .discard
            """
        try await wait(for: "the news", read: { console.shown }, until: { $0.contains(news) })
        try await wait(for: "more attempts") { peer.requests("POST /api/data ").count > 2 }
        console.type(.text(".discard", number: 4))
        console.type(.text(".wait queue-empty", number: 5))
        console.type(.end)
        #expect(try await wait(forEndOf: run) == 0)
        #expect(console.failures == ["no transaction waits for a decision of this client"])
        #expect(console.shown.contains("discarded: 1 change"))
        #expect(console.shown.filter { $0 == news }.count == 1)
    }

    @Test func helpNamesEveryCommand() async throws {
        let shown = try await run(".help")
        let names = Set(
            shown.output.split(separator: "\n").compactMap { line in
                line.split(separator: " ").first.map(String.init)
            }.filter { $0.hasPrefix(".") })
        #expect(
            names.isSuperset(of: [
                ".connect", ".disconnect", ".status", ".wait", ".queue", ".discard", ".tables", ".schema",
                ".watch", ".unwatch", ".stream", ".unstream", ".streams", ".clear", ".mode", ".help", ".quit",
            ]))
        #expect(shown.output.contains("\n.wait STATE [SECONDS]"))
    }

    @Test func quitIsTheEnd() async throws {
        let shown = try await run("SELECT 1 AS one;\n.quit\nSELECT 2 AS two;")
        #expect(shown.status == 0)
        #expect(!shown.output.contains("two"))
    }

    @Test func aCommandThatMakesNoSenseIsAnError() async throws {
        let shown = try await run("\n.fly\n.wait first-sync 0.02\n.unwatch 1")
        #expect(shown.status == 1)
        #expect(
            shown.errors == [
                "error: line 2: there is no command .fly; .help lists them",
                "error: line 3: The time is over: first-sync has not come within 0.02 seconds",
                "error: line 4: there is no such watch",
            ])
    }

    @Test func aWatchThatIsWrongIsAnErrorAndNoWatch() async throws {
        let shown = try await run(
            """
            .watch SELECT absent
            .watch SELECT zeroblob(70000000) AS bytes
            .unwatch
            .watch SELECT 1 AS one
            """)
        #expect(shown.status == 1)
        #expect(
            shown.errors == [
                "error: line 1: no such column: absent",
                "error: line 2: the result has more than 64 MiB; LIMIT and OFFSET ask for a part of it",
                "error: line 3: there is no such watch",
            ])
        // The result is there before the script goes on.
        #expect(
            shown.output
                == "one\n---\n  1\n(watch 3: 1 row)\nwatch 3; .unwatch 3 ends it")
    }

    @Test func theModeChoosesHowRowsAreShown() async throws {
        let shown = try await run(".mode line\nSELECT 'x' AS a, NULL AS b;")
        #expect(shown.output == "-[ 1 ]-\na | x\nb | NULL\n(1 row)")
    }

    @Test func clearingSaysWhatIsLost() async throws {
        let shown = try await run(
            """
            INSERT INTO items (id, name) VALUES ('a', 'one');
            .clear --soft
            SELECT count(*) AS count FROM items;
            """)
        #expect(
            shown.output
                == "(done)\ncleared; 1 change had not been uploaded\ncount\n-----\n    0\n(1 row)")
    }

    @Test func theDatabaseIsClosedAtTheEnd() async throws {
        _ = try await run("INSERT INTO items (id, name) VALUES ('a', 'one');")
        #expect(!FileManager.default.fileExists(atPath: database + "-wal"))
    }

    /// The wait has no end of its own.
    @Test func aScriptWhoseOutputNobodyTakesEnds() async throws {
        let script = """
            SELECT 1 AS one;
            .wait first-sync
            INSERT INTO items (id, name) VALUES ('a', 'one');
            """
        let error = await #expect(throws: StackError.self) {
            try await run(
                bytes: Data(script.utf8),
                write: { _ in throw SystemError(.file, "nobody reads", errno: EPIPE) })
        }
        #expect(error?.message.contains("nobody reads") == true)
        let shown = try await run("SELECT count(*) AS count FROM items;")
        #expect(shown.output == "count\n-----\n    0\n(1 row)")
    }

    // MARK: What does not end

    private static let numbers = "WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c)"

    /// It does not from its second result on, which has begun at the end or is about to.
    @Test func aWatchWhoseQueryDoesNotEndHoldsUpNoEnd() async throws {
        let shown = try await run(
            ".watch WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c "
                + "WHERE EXISTS (SELECT 1 FROM items)) SELECT count(*) FROM c\n"
                + "INSERT INTO items (id, name) VALUES ('a', 'one');\n.quit\n")
        #expect(shown.status == 0)
        #expect(shown.errors.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: database + "-wal"))
    }

    /// Wherever between Enter and the end it comes, it ends what was typed, and what stands behind that on the line.
    @Test(arguments: [
        ".wait first-sync", ".watch \(numbers) SELECT count(*) FROM c",
        "\(numbers) SELECT count(*) FROM c; SELECT 1 AS one;",
        "CREATE TABLE plain AS \(numbers) SELECT n FROM c; SELECT 1 AS one;",
    ])
    func controlCEndsWhatRuns(line: String) async throws {
        let console = TypedConsole()
        let signals = PromptSignals()
        let run = prompt(console, signals: signals)
        console.type(.text(line, number: 1))
        try await wait(for: "the line to be taken") { console.taken == 1 }
        #expect(signals.interrupt())
        try await wait(for: "the end of what runs", read: { console.failures }, until: { !$0.isEmpty })
        #expect(console.failures == ["interrupted"])
        console.type(.text("SELECT name FROM sqlite_schema WHERE name = 'plain';", number: 2))
        console.type(.end)
        // A person who leaves has not failed.
        #expect(try await wait(forEndOf: run) == 0)
        #expect(!console.shown.contains { $0.hasPrefix("one") })
        #expect(console.shown.contains { $0.hasPrefix("(no rows") })
    }

    @Test func controlCEndsAWaitForAnotherProcess() async throws {
        let console = TypedConsole()
        let signals = PromptSignals()
        let run = prompt(console, signals: signals)
        console.type(.text("SELECT 1 AS one;", number: 1))
        try await wait(for: "the database") { console.shown.contains { $0.hasPrefix("one") } }
        let other = try SQLiteConnection(path: database)
        try other.execute("BEGIN IMMEDIATE")
        console.type(.text("INSERT INTO items (id, name) VALUES ('a', 'one');", number: 2))
        try await wait(for: "the line to be taken") { console.taken == 2 }
        #expect(signals.interrupt())
        // It would wait for 30 seconds, and fail for another reason.
        try await wait(for: "the end of the wait", read: { console.failures }, until: { !$0.isEmpty })
        #expect(console.failures == ["interrupted"])
        try other.execute("ROLLBACK")
        other.close()
        console.type(.text("SELECT count(*) AS count FROM items;", number: 3))
        console.type(.end)
        #expect(try await wait(forEndOf: run) == 0)
        #expect(console.shown.contains { $0.hasPrefix("count\n-----\n    0") })
    }

    /// A person who brings it back sees what has been done.
    @Test func whatWasDoneOfALineIsKeptAlsoWhereItsRestIsGivenUp() async throws {
        let console = TypedConsole()
        let run = prompt(console)
        console.type(.text("SELECT 1 AS one; SELECT", number: 1))
        console.type(.text("2", number: 2))
        console.type(.interrupted(isEmpty: false))
        console.type(.text("SELECT", number: 3))
        console.type(.interrupted(isEmpty: false))
        console.type(.text("SELECT 3 AS", number: 4))
        console.type(.text("three;", number: 5))
        console.type(.end)
        #expect(try await wait(forEndOf: run) == 0)
        #expect(console.remembered == ["SELECT 1 AS one; SELECT\n2", "SELECT 3 AS\nthree;"])
    }

    /// The line of this console is never being read at that moment.
    @Test func controlCBetweenTwoLinesIsForNeither() async throws {
        let console = TypedConsole()
        let signals = PromptSignals()
        let run = prompt(console, signals: signals)
        for number in 1...3 {
            try await wait(for: "line \(number) to be asked for") { console.asked == number }
            #expect(signals.interrupt())
            console.type(.text("SELECT \(number) AS number;", number: number))
        }
        console.type(.end)
        #expect(try await wait(forEndOf: run) == 0)
        #expect(console.failures.isEmpty)
        #expect(console.shown.filter { $0.hasPrefix("number\n") }.count == 3)
    }

    @Test func controlCEndsWhatIsShown() async throws {
        let gate = Gate()
        let console = TypedConsole(holding: "\n   1\n", at: gate)
        let signals = PromptSignals()
        let run = prompt(console, signals: signals)
        console.type(.text("\(Self.numbers) SELECT n FROM c LIMIT 2500; SELECT 1 AS one;", number: 1))
        try await wait(for: "the first lines") { gate.arrivals == 1 }
        #expect(signals.interrupt())
        gate.open()
        try await wait(for: "the end of the output", read: { console.failures }, until: { !$0.isEmpty })
        #expect(console.failures == ["interrupted: the statement is done, but not all of it is shown"])
        console.type(.end)
        #expect(try await wait(forEndOf: run) == 0)
        #expect(!console.shown.contains { $0.contains("2500") || $0.hasPrefix("one") })
    }
}

/// A prompt at which a test types, line by line.
private final class TypedConsole: PromptConsole {
    private struct State {
        var asked = 0
        var taken = 0
        var shown: [String] = []
        var failures: [String] = []
        var remembered: [String] = []
    }

    let isInteractive = true
    let rowLimit: Int?
    private let state = Lock(State())
    private let lines: AsyncStream<PromptLine>
    private let typing: AsyncStream<PromptLine>.Continuation

    /// What is held up when it is shown, and where.
    private let held: (text: String, gate: Gate)?

    init(rowLimit: Int? = nil, holding text: String = "", at gate: Gate? = nil) {
        self.rowLimit = rowLimit
        held = gate.map { (text: text, gate: $0) }
        (lines, typing) = AsyncStream.makeStream(of: PromptLine.self)
    }

    /// How many lines the prompt has asked for.
    var asked: Int { state.withLock { $0.asked } }
    /// How many lines the prompt has taken.
    var taken: Int { state.withLock { $0.taken } }
    /// What it has shown.
    var shown: [String] { state.withLock { $0.shown } }
    /// What it has called a failure.
    var failures: [String] { state.withLock { $0.failures } }
    /// What it is to keep.
    var remembered: [String] { state.withLock { $0.remembered } }

    func type(_ line: PromptLine) { typing.yield(line) }

    func layout(_ form: ResultTable.Form) -> ResultTable.Layout {
        ResultTable.Layout(
            width: 80, form: form, style: TextStyle(isColored: false), measure: DisplayWidth { _ in 1 })
    }

    func setPrompt(_ prompt: String) {}
    func interrupt() -> Bool { false }
    var linesRead: Int { taken }
    func renew() {}

    func line() async throws -> PromptLine {
        state.withLock { $0.asked += 1 }
        var iterator = lines.makeAsyncIterator()
        guard let line = await iterator.next() else { throw CancellationError() }
        state.withLock { $0.taken += 1 }
        return line
    }

    func show(_ text: String) async {
        if let held, text.contains(held.text) { await held.gate.pass() }
        state.withLock { $0.shown.append(text) }
    }
    func complain(_ failure: String, line: Int?) async { state.withLock { $0.failures.append(failure) } }
    func remember(_ entry: String) async { state.withLock { $0.remembered.append(entry) } }
}
