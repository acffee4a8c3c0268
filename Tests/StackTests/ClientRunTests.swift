import Foundation
import PowerSync
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What a driving program gets to its commands, without a service.
@Suite(.patient())
struct ClientRunTests {
    private static let schema = Schema(
        Table(name: "items", columns: [.text("name"), .integer("n"), .real("x")]))

    /// Lets `body` drive a client with a file of its own, and ends it by the end of its input.
    private func with(
        lineLimit: Int = ClientRun.lineLimit, answerLimit: Int = ClientRun.answerLimit,
        _ body: (DrivenClient) async throws -> Void
    ) async throws {
        let folder = try TemporaryDirectory(prefix: "client-")
        let client = try DrivenClient(
            Self.options(folder.path + "/c.db"), lineLimit: lineLimit, answerLimit: answerLimit)
        try await body(client)
        #expect(try await client.end() == 0)
        folder.remove()
    }

    private static func options(_ database: String) -> ClientOptions {
        ClientOptions(
            database: database, schema: schema, endpoint: "http://127.0.0.1:1", login: .token("t"))
    }

    private static func insert(_ id: Int, _ number: Int) -> String {
        #"{"id":\#(id),"op":"write","tx":[["INSERT INTO items (id, n) VALUES (uuid(), ?)",[\#(number)]]]}"#
    }

    // MARK: Writing and reading

    @Test func theFirstLineSaysThatTheDatabaseIsOpen() async throws {
        try await with { client in
            let count = try await client.ask(#"{"id":1,"op":"crud-count"}"#)
            #expect(count.text == #"{"id":1,"ok":true,"count":0}"#)
            #expect(client.all.first?.text == #"{"event":"ready"}"#)
        }
    }

    @Test func aWriteAnswersForEachStatementWithItsRowsOrHowManyItChanged() async throws {
        try await with { client in
            _ = try await client.ask(#"{"id":1,"op":"write","tx":[["CREATE TABLE plain (v)"]]}"#)
            let answer = try await client.ask(
                #"""
                {"id":2,"op":"write","tx":[["INSERT INTO items (id, name, n) VALUES ('a', ?, ?)",["one",1]],\#
                ["SELECT name, n FROM items",[]],["INSERT INTO plain VALUES (1), (2)"],\#
                ["UPDATE plain SET v = 5 WHERE v = ? RETURNING v",[2]],\#
                ["DELETE FROM plain WHERE v = 7 RETURNING v",null]]}
                """#)
            #expect(
                answer.text == #"{"id":2,"ok":true,"results":[0,[{"name":"one","n":1}],2,[{"v":5}],[]]}"#)
            let count = try await client.ask(#"{"id":3,"op":"crud-count"}"#)
            #expect(count.text == #"{"id":3,"ok":true,"count":1}"#)
        }
    }

    @Test func aStatementThatChangesNoRowsCountsNone() async throws {
        try await with { client in
            let answer = try await client.ask(
                #"""
                {"id":1,"op":"write","tx":[["CREATE TABLE plain (v)"],["INSERT INTO plain VALUES (1), (2)"],\#
                ["CREATE TABLE other (v)"],["SAVEPOINT s"],["DELETE FROM plain WHERE v = 7"],["RELEASE s"]]}
                """#)
            #expect(answer["results"]?.text == "[0,2,0,0,0,0]")
            let alone = try await client.ask(#"{"id":2,"op":"write","tx":[["CREATE TABLE third (v)"]]}"#)
            #expect(alone["results"]?.text == "[0]")
        }
    }

    @Test func aFailedTransactionLeavesNothing() async throws {
        try await with { client in
            let answer = try await client.ask(
                #"""
                {"id":1,"op":"write","tx":[["INSERT INTO items (id) VALUES ('a')"],\#
                ["INSERT INTO absent VALUES (1)"]]}
                """#)
            #expect(answer["ok"] == .bool(false))
            #expect(answer["code"] == .string("invalidStatement"))
            #expect(answer["error"]?.stringValue?.contains("no such table: absent") == true)
            let count = try await client.ask(#"{"id":2,"op":"read","sql":"SELECT count(*) AS n FROM items"}"#)
            #expect(count.text == #"{"id":2,"ok":true,"rows":[{"n":0}]}"#)
        }
    }

    /// An answer that says it has failed, and rows that stay and are uploaded, would not go together.
    @Test(arguments: [
        #"["INSERT INTO items (id) VALUES ('a')"],["COMMIT"],["SELEC"]"#,
        #"["ROLLBACK"],["INSERT INTO items (id) VALUES ('a')"]"#,
    ])
    func aTransactionEndsWithItsCommandAlone(statements: String) async throws {
        try await with { client in
            let answer = try await client.ask(#"{"id":1,"op":"write","tx":[\#(statements)]}"#)
            #expect(answer["ok"] == .bool(false) && answer["code"] == .string("invalidState"))
            let rows = try await client.ask(#"{"id":2,"op":"read","sql":"SELECT count(*) AS n FROM items"}"#)
            #expect(rows["rows"]?.text == #"[{"n":0}]"#)
            #expect(try await client.ask(#"{"id":3,"op":"crud-count"}"#)["count"] == .number("0"))
        }
    }

    @Test(arguments: [
        #""op":"read","sql":"SELECT 1; SELECT 2""#, #""op":"watch","sql":"SELECT 1; SELECT 2""#,
        #""op":"write","tx":[["INSERT INTO items (id) VALUES ('a')"],["SELECT 1; DELETE FROM items"]]"#,
    ])
    func ofATextWithSeveralStatementsNoneRuns(command: String) async throws {
        try await with { client in
            let answer = try await client.ask(#"{"id":1,\#(command)}"#)
            #expect(
                answer.text
                    == #"""
                    {"id":1,"ok":false,"error":"the text holds more than one statement",\#
                    "code":"invalidStatement"}
                    """#)
            let count = try await client.ask(#"{"id":2,"op":"crud-count"}"#)
            #expect(count["count"] == .number("0"))
            let blank = try await client.ask(#"{"id":3,"op":"read","sql":"SELECT 1 AS a; -- no more\n"}"#)
            #expect(blank["rows"]?.text == #"[{"a":1}]"#)
        }
    }

    /// They would stay for whoever reads with the same connection later.
    @Test func whatChangesTheConnectionIsNotRead() async throws {
        let folder = try TemporaryDirectory(prefix: "copy-")
        let copy = folder.path + "/copy.db"
        try await with { client in
            _ = try await client.ask(Self.insert(1, 7))
            let statements = [
                "CREATE TEMP TABLE items AS SELECT 'x' AS id, 8 AS n", "BEGIN", "SAVEPOINT s",
                "ATTACH ':memory:' AS other", "VACUUM", "VACUUM INTO '\(copy)'",
                "PRAGMA case_sensitive_like = ON", "EXPLAIN PRAGMA case_sensitive_like = ON",
                "PRAGMA case_sensitive_like/*_list*/(1)",
            ]
            for (index, sql) in statements.enumerated() {
                for (offset, operation) in ["read", "watch"].enumerated() {
                    let id = 100 + 10 * index + offset
                    let answer = try await client.ask(
                        #"{"id":\#(id),"op":"\#(operation)","sql":"\#(sql)"}"#)
                    #expect(answer["ok"] == .bool(false) && answer["code"] == .string("readOnly"), "\(sql)")
                }
            }
            for id in 2...9 {
                let read = try await client.ask(
                    #"{"id":\#(id),"op":"read","sql":"SELECT n, 'a' LIKE 'A' AS same FROM items"}"#)
                #expect(read["rows"]?.text == #"[{"n":7,"same":1}]"#)
            }
        }
        #expect(!FileManager.default.fileExists(atPath: copy))
        folder.remove()
    }

    @Test func integersKeepAllDigitsAndRealsStayReals() async throws {
        try await with { client in
            let read = try await client.ask(
                #"""
                {"id":1,"op":"read","sql":"SELECT ? AS a, ? AS b, ? AS c, ? AS d, typeof(?) AS e, ? AS f, ? AS g",\#
                "args":[9223372036854775807,-9223372036854775808,9007199254740993,2.0,1e3,true,null]}
                """#)
            #expect(
                read["rows"]?.text == #"""
                    [{"a":9223372036854775807,"b":-9223372036854775808,"c":9007199254740993,"d":2.0,"e":"real",\#
                    "f":1,"g":null}]
                    """#)
            _ = try await client.ask(
                #"""
                {"id":2,"op":"write","tx":[["INSERT INTO items (id, n, x) VALUES ('a', ?, ?)",\#
                [9223372036854775807,3.0]]]}
                """#)
            let stored = try await client.ask(#"{"id":3,"op":"read","sql":"SELECT n, x FROM items"}"#)
            #expect(stored["rows"]?.text == #"[{"n":9223372036854775807,"x":3.0}]"#)
        }
    }

    @Test func bytesAreBase64BothWays() async throws {
        try await with { client in
            let read = try await client.ask(
                #"""
                {"id":1,"op":"read","sql":"SELECT ?1 AS b, typeof(?1) AS t, hex(?1) AS h, ?2 AS e",\#
                "args":[{"$base64":"AP8B"},{"$base64":""}]}
                """#)
            #expect(
                read["rows"]?.text
                    == #"[{"b":{"$base64":"AP8B"},"t":"blob","h":"00FF01","e":{"$base64":""}}]"#)
        }
    }

    @Test func ofColumnsWithOneNameTheLastCounts() async throws {
        try await with { client in
            let read = try await client.ask(
                #"{"id":1,"op":"read","sql":"SELECT 1 AS a, 2 AS b, 3 AS a"}"#)
            #expect(read["rows"]?.text == #"[{"b":2,"a":3}]"#)
        }
    }

    // MARK: Ids and mistakes

    @Test(arguments: [
        (#""x""#, #""id":"x","#), ("null", #""id":null,"#), ("1.50", #""id":1.50,"#),
        (#"[1,{"a":2}]"#, #""id":[1,{"a":2}],"#),
    ])
    func anyIdIsRepeated(id: String, repeated: String) async throws {
        try await with { client in
            client.send(#"{"id":\#(id),"op":"crud-count"}"#)
            try await wait(
                for: "the answer", read: { client.all.map(\.text) },
                until: { $0.last == #"{\#(repeated)"ok":true,"count":0}"# })
        }
    }

    @Test func aCommandWithoutAnIdHasAnAnswerWithoutOne() async throws {
        try await with { client in
            client.send(#"{"op":"crud-count"}"#)
            try await wait(
                for: "the answer", read: { client.all.map(\.text) },
                until: { $0.last == #"{"ok":true,"count":0}"# })
        }
    }

    @Test(arguments: [
        #"{"id":1,"#, #"{"id":1,"op":"crud-count""#, #"{"id":1,"id":2,"op":"status"}"#,
        #"{"id":1,"op":"status","op":"status"}"#, #"{"id":1,"op":"read","sql":"\ud800"}"#,
        #"{"op":"read","args":[{"a":"}"}],"id":1,"sql":}"#,
    ])
    func whatIsNoJSONIsAnsweredByTheIdAtItsBeginning(line: String) async throws {
        try await with { client in
            client.send(line)
            let answer = try await client.answered(1)
            #expect(answer["ok"] == .bool(false) && answer["code"] == .string("invalidArgument"))
            #expect(answer["error"]?.stringValue?.hasPrefix("wrong JSON: ") == true)
            let count = try await client.ask(#"{"id":3,"op":"crud-count"}"#)
            #expect(count["ok"] == .bool(true))
        }
    }

    /// Nor is half a number an id: it would be somebody else's.
    @Test(arguments: [
        "nonsense", "{", #"{"op":"status""#, #"{"id":12"#, #"{"id":"a"#, "[]", "7", #"[{"id":1}]"#,
    ])
    func whatIsNoCommandAndHasNoIdIsAnEvent(line: String) async throws {
        try await with { client in
            client.send(line)
            try await wait(for: "the event") { client.events("error").count == 1 }
            let event = client.events("error")[0]
            #expect(event["id"] == nil && event["ok"] == nil)
            #expect(event["code"] == .string("invalidArgument"))
            #expect(event["error"]?.stringValue?.isEmpty == false)
            let count = try await client.ask(#"{"id":3,"op":"crud-count"}"#)
            #expect(count["ok"] == .bool(true))
        }
    }

    @Test(arguments: [
        (#"{"id":1}"#, "op: expected a command"),
        (#"{"id":1,"op":"fly"}"#, #"op: unknown command "fly""#),
        (#"{"id":1,"op":"read"}"#, "sql: expected a text"),
        (#"{"id":1,"op":"read","sql":"SELECT ?","agrs":[1]}"#, "agrs: unknown key"),
        (#"{"id":1,"op":"read","sql":"SELECT ?","args":{}}"#, "args: expected an array"),
        (#"{"id":1,"op":"write","tx":[["SELECT 1"],"SELECT 1"]}"#, "tx[1]: expected [sql, args]"),
        (
            #"{"id":1,"op":"write","tx":[["SELECT ?",[[]]]]}"#,
            #"tx[0][1][0]: expected null, a truth value, a number, a text or {"$base64": …}"#
        ),
        (
            #"{"id":1,"op":"read","sql":"SELECT ?","args":[9223372036854775808]}"#,
            "args[0]: expected an integer of 64 bits; a real has a point or an exponent"
        ),
        (
            #"{"id":1,"op":"read","sql":"SELECT ?","args":[{"$base64":"?"}]}"#,
            "args[0].$base64: expected a text in Base64"
        ),
        (#"{"id":1,"op":"watch","sql":"SELECT 1","throttle":-1}"#, "throttle: expected a number from 0"),
        (#"{"id":1,"op":"unwatch","of":1}"#, "of: unknown key"),
        (#"{"id":1,"op":"connect","retry":"soon"}"#, "retry: expected a number from 0"),
        (#"{"id":1,"op":"clear","soft":1}"#, "soft: expected true or false"),
        (#"{"id":1,"op":"stream","name":"s","parameters":[]}"#, "parameters: expected an object"),
        (
            #"{"id":1,"op":"stream","name":"s","priority":-1}"#,
            "priority: expected a whole number from 0 to 2147483647"
        ),
        (
            #"{"id":1,"op":"wait","for":"rain"}"#,
            "for: expected first-sync, queue-empty, up-to-date, stream or attachments"
        ),
        (#"{"id":1,"op":"wait","for":"first-sync","name":"s"}"#, "name: unknown key"),
    ])
    func aCommandThatMakesNoSenseIsAnAnswerThatSaysWhere(command: String, error: String) async throws {
        try await with { client in
            let answer = try await client.ask(command)
            #expect(answer["ok"] == .bool(false))
            #expect(answer["error"] == .string(error))
            #expect(answer["code"] == .string("invalidArgument"))
        }
    }

    @Test func aWriteOnTheReadingSideIsAnAnswer() async throws {
        try await with { client in
            let answer = try await client.ask(
                #"{"id":1,"op":"read","sql":"DELETE FROM items"}"#)
            #expect(answer["ok"] == .bool(false) && answer["code"] == .string("readOnly"))
        }
    }

    @Test func aLineOverTheLimitIsAnAnswerAndTheNextOneIsDone() async throws {
        try await with(lineLimit: 100) { client in
            client.send(#"{"id":1,"op":"read","sql":"\#(String(repeating: "x", count: 100))"}"#)
            let count = try await client.ask(#"{"id":2,"op":"crud-count"}"#)
            #expect(count["ok"] == .bool(true))
            #expect(
                client.all.dropFirst().first?.text
                    == #"""
                    {"id":1,"ok":false,"error":"the command is longer than a command may be",\#
                    "code":"invalidArgument"}
                    """#)
        }
    }

    /// Neither rows without end nor a value that is too large are ever there as a whole.
    @Test(arguments: [
        #""op":"read","sql":"\#(numbers) SELECT n FROM c""#,
        #""op":"read","sql":"SELECT zeroblob(100000000) AS b""#,
        #""op":"watch","sql":"\#(numbers) SELECT n FROM c""#,
        #""op":"write","tx":[["INSERT INTO items (id) VALUES ('a')"],["\#(numbers) SELECT n FROM c"]]"#,
    ])
    func anAnswerOverTheLimitIsAnErrorThatSaysWhatToDo(command: String) async throws {
        try await with(answerLimit: 1000) { client in
            let answer = try await client.ask(#"{"id":1,\#(command)}"#)
            #expect(
                answer.text
                    == #"""
                    {"id":1,"ok":false,"error":"the answer has more than 1000 bytes; ask for fewer rows (LIMIT), \#
                    or for less of a value (substr)","code":"answerTooLarge"}
                    """#)
            let count = try await client.ask(#"{"id":2,"op":"crud-count"}"#)
            #expect(count["count"] == .number("0"))
        }
    }

    @Test func anAnswerMayHaveAsManyBytesAsTheLimit() async throws {
        try await with(answerLimit: 1000) { client in
            // {"a":"…"}
            for (id, isAllowed) in [(1, true), (2, false)] {
                let text = String(repeating: "x", count: 991 + id)
                let answer = try await client.ask(
                    #"{"id":\#(id),"op":"read","sql":"SELECT ? AS a","args":["\#(text)"]}"#)
                #expect(answer["ok"] == .bool(isAllowed))
            }
        }
    }

    /// They are kept as long as the watch or the wait is open.
    @Test func theCommandsOfOpenWatchesAndWaitsHaveALimit() async throws {
        let folder = try TemporaryDirectory(prefix: "client-")
        let client = try DrivenClient(Self.options(folder.path + "/c.db"), lineLimit: 1000)
        let large = String(repeating: " ", count: 600)
        client.send(#"{"id":1,"op":"wait",\#(large)"for":"first-sync"}"#)
        client.send(#"{"id":2,"op":"wait",\#(large)"for":"first-sync"}"#)
        let refused = try await client.answered(2)
        #expect(refused["code"] == .string("invalidState"))
        let error = try #require(refused["error"]?.stringValue)
        #expect(error.hasPrefix("the open watches and waits have commands of "))
        let small = try await client.ask(#"{"id":3,"op":"wait","for":"queue-empty"}"#)
        #expect(small["ok"] == .bool(true))
        #expect(client.answer(to: 1) == nil)
        #expect(try await client.end() == 0)
    }

    // MARK: Order

    @Test func writesStayInOrderAndReadsSeeThoseBeforeThem() async throws {
        try await with { client in
            let count = 100
            for number in 0..<count {
                client.send(
                    #"""
                    {"id":\#(number),"op":"write","tx":[["INSERT INTO items (id, n) VALUES (uuid(), \#(number))"],\#
                    ["SELECT count(*) AS c, max(n) AS m FROM items"]]}
                    """#,
                    #"{"id":\#(count + number),"op":"read","sql":"SELECT count(*) AS c FROM items"}"#)
            }
            for number in 0..<count {
                let written = try await client.answered(number)
                #expect(
                    written["results"]?.text == "[0,[{\"c\":\(number + 1),\"m\":\(number)}]]")
                let read = try await client.answered(count + number)
                let seen = try #require(read["rows"]?.arrayValue?.first?["c"]?.int64Value)
                #expect(seen >= number + 1)
            }
        }
    }

    @Test func everythingThatWasAskedForIsAnsweredBeforeTheEnd() async throws {
        let folder = try TemporaryDirectory(prefix: "client-")
        let client = try DrivenClient(Self.options(folder.path + "/c.db"))
        for id in 1...50 { client.send(Self.insert(id, id)) }
        client.send(#"{"id":51,"op":"read","sql":"SELECT count(*) AS n FROM items"}"#)
        #expect(try await client.end() == 0)
        #expect(client.answer(to: 51)?["rows"]?.text == #"[{"n":50}]"#)
        #expect(client.all.count == 52)
    }

    // MARK: Watching and waiting

    @Test func aWatchTellsItsRowsAtFirstAndAtEachChange() async throws {
        try await with { client in
            let answer = try await client.ask(
                #"{"id":1,"op":"watch","sql":"SELECT n FROM items WHERE n > ? ORDER BY n","args":[1]}"#)
            #expect(answer.text == #"{"id":1,"ok":true}"#)
            func rows() -> [String] { client.events("watch").compactMap { $0["rows"]?.text } }
            try await wait(for: "the first rows", read: rows) { $0.first == "[]" }
            let event = try #require(client.events("watch").first)
            #expect(event["id"] == .number("1"))
            let now = Date().timeIntervalSince1970 * 1000
            let at = try #require(event["at"]?.int64Value)
            #expect(abs(now - Double(at)) < TestOptions.deadline / .milliseconds(1))
            _ = try await client.ask(Self.insert(2, 5))
            try await wait(for: "the new row", read: rows) { $0.last == #"[{"n":5}]"# }
            // The answer comes before the events.
            let lines = client.all.map(\.text)
            let answered = try #require(lines.firstIndex(of: answer.text))
            let first = try #require(client.all.firstIndex { $0["event"] == .string("watch") })
            #expect(answered < first)
        }
    }

    @Test func aWatchOfWhatIsNoQueryIsAnAnswer() async throws {
        try await with { client in
            let answer = try await client.ask(#"{"id":1,"op":"watch","sql":"SELECT * FROM nothing"}"#)
            #expect(answer["ok"] == .bool(false) && answer["code"] == .string("invalidStatement"))
            #expect(client.events("watch").isEmpty)
        }
    }

    @Test func aWatchThatFailsLaterSaysSo() async throws {
        try await with { client in
            _ = try await client.ask(#"{"id":1,"op":"write","tx":[["CREATE TABLE plain (v)"]]}"#)
            _ = try await client.ask(#"{"id":2,"op":"watch","sql":"SELECT v FROM plain"}"#)
            _ = try await client.ask(
                #"{"id":3,"op":"write","tx":[["INSERT INTO plain VALUES (1)"],["DROP TABLE plain"]]}"#)
            try await wait(
                for: "the failure", read: { client.events("watch").last },
                until: { $0?["code"] == .string("invalidStatement") && $0?["id"] == .number("2") })
        }
    }

    /// Nothing of it comes behind the answer, and the others go on.
    @Test(arguments: [#""id":1"#, #""id":9,"watch":1"#])
    func unwatchEndsAWatch(id: String) async throws {
        try await with { client in
            for id in 1...2 {
                _ = try await client.ask(
                    #"{"id":\#(id),"op":"watch","sql":"SELECT count(*) AS n FROM items"}"#)
            }
            func successes(_ id: String) -> Int {
                client.all.filter { $0["id"] == .number(id) }.filter { $0["ok"] == .bool(true) }.count
            }
            client.send(#"{\#(id),"op":"unwatch"}"#)
            try await wait(for: "the answer") { successes("9") == 1 || successes("1") == 2 }
            func results(_ id: String) -> [JSON] { client.events("watch").filter { $0["id"] == .number(id) } }
            let before = results("1")
            _ = try await client.ask(Self.insert(3, 1))
            try await wait(for: "the other watch") { results("2").last?["rows"]?.text == #"[{"n":1}]"# }
            #expect(results("1") == before)
            let again = try await client.ask(#"{"id":4,"op":"unwatch","watch":1}"#)
            #expect(again["ok"] == .bool(false) && again["code"] == .string("invalidState"))
            #expect(again["error"] == .string("no watch with this id is open"))
        }
    }

    /// Also one whose query would not end, and before there is a result.
    @Test func unwatchEndsAQueryInItsMidst() async throws {
        try await with { client in
            client.send(
                #"{"id":1,"op":"watch","sql":"\#(Self.numbers) SELECT count(*) FROM c"}"#,
                #"{"id":2,"op":"unwatch","watch":1}"#)
            #expect(try await client.answered(2)["ok"] == .bool(true))
            let answer = try await client.answered(1)
            #expect(answer["ok"] == .bool(false) && answer["code"] == .string("closed"))
            #expect(answer["error"] == .string("unwatch has ended it before its first result"))
            #expect(client.events("watch").isEmpty)
        }
    }

    /// There is room for others then.
    @Test func whatIsUnwatchedDoesNotCountAsOpen() async throws {
        let folder = try TemporaryDirectory(prefix: "client-")
        let client = try DrivenClient(Self.options(folder.path + "/c.db"))
        for id in 1...1024 { client.send(#"{"id":\#(id),"op":"watch","sql":"SELECT 1 AS a"}"#) }
        _ = try await client.answered(1024)
        let refused = try await client.ask(#"{"id":2000,"op":"watch","sql":"SELECT 1 AS a"}"#)
        #expect(refused["code"] == .string("invalidState"))
        _ = try await client.ask(#"{"id":2001,"op":"unwatch","watch":1024}"#)
        var id = 3000
        try await wait(
            for: "room",
            read: {
                id += 1
                return try await client.ask(#"{"id":\#(id),"op":"watch","sql":"SELECT 1 AS a"}"#)
            }, until: { $0["ok"] == .bool(true) })
        #expect(try await client.end() == 0)
    }

    @Test func aWaitHoldsUpNobodyAndTheEndOfTheInputEndsIt() async throws {
        let folder = try TemporaryDirectory(prefix: "client-")
        let client = try DrivenClient(Self.options(folder.path + "/c.db"))
        client.send(
            #"{"id":1,"op":"wait","for":"first-sync"}"#, #"{"id":2,"op":"wait","for":"up-to-date"}"#,
            #"{"id":3,"op":"wait","for":"stream","name":"s"}"#)
        _ = try await client.ask(Self.insert(4, 1))
        client.send(#"{"id":5,"op":"wait","for":"queue-empty"}"#)
        _ = try await client.ask(#"{"id":6,"op":"crud-count"}"#)
        for id in [1, 2, 3, 5] { #expect(client.answer(to: id) == nil) }
        #expect(try await client.end() == 0)
        for id in [1, 2, 3, 5] {
            #expect(
                client.answer(to: id)?.text
                    == #"{"id":\#(id),"ok":false,"error":"the client ends before that","code":"closed"}"#)
        }
    }

    @Test func aWaitForWhatIsSoAlreadyIsOverAtOnce() async throws {
        try await with { client in
            let answer = try await client.ask(#"{"id":1,"op":"wait","for":"queue-empty","timeout":600}"#)
            #expect(answer["ok"] == .bool(true))
            #expect(try #require(answer["ms"]?.int64Value) >= 0)
        }
    }

    @Test(arguments: ["first-sync", "up-to-date"])
    func aWaitHasItsTime(state: String) async throws {
        try await with { client in
            let answer = try await client.ask(
                #"{"id":1,"op":"wait","for":"\#(state)","timeout":0.02}"#)
            #expect(answer["ok"] == .bool(false))
            #expect(answer["code"] == .string("timedOut"))
            #expect(
                answer["error"] == .string("The time is over: \(state) has not come within 0.02 seconds"))
        }
    }

    @Test(arguments: [("queue-empty", true), ("first-sync", false), ("up-to-date", false)])
    func aWaitWithoutTimeLooksOnce(state: String, isSo: Bool) async throws {
        try await with { client in
            for (id, limit) in [(1, "0"), (2, "0.0")] {
                let answer = try await client.ask(
                    #"{"id":\#(id),"op":"wait","for":"\#(state)","timeout":\#(limit)}"#)
                #expect(answer["ok"] == .bool(isSo))
                #expect(answer["code"] == (isSo ? nil : JSON.string("timedOut")))
            }
        }
    }

    /// A question has the answer that is true, every time.
    @Test func aTimeOf0AsksOnceAndAnswersByTheState() async throws {
        try await with { client in
            for id in 1...200 {
                let answer = try await client.ask(
                    #"{"id":\#(id),"op":"wait","for":"queue-empty","timeout":0}"#)
                #expect(answer["ok"] == .bool(true))
            }
            // Behind what was written before it.
            client.send(Self.insert(201, 1))
            let full = try await client.ask(#"{"id":202,"op":"wait","for":"queue-empty","timeout":0}"#)
            #expect(
                full.text
                    == #"""
                    {"id":202,"ok":false,"error":"The time is over: queue-empty is not so yet","code":"timedOut"}
                    """#)
            let states = [#""first-sync""#, #""up-to-date""#, #""stream","name":"s""#]
            for (index, state) in states.enumerated() {
                let answer = try await client.ask(
                    #"{"id":\#(203 + index),"op":"wait","for":\#(state),"timeout":0}"#)
                #expect(answer["code"] == .string("timedOut"))
            }
        }
    }

    @Test func soManyWaitsAreOpenAndNoMore() async throws {
        let folder = try TemporaryDirectory(prefix: "client-")
        let client = try DrivenClient(Self.options(folder.path + "/c.db"))
        for id in 1...1025 { client.send(#"{"id":\#(id),"op":"wait","for":"first-sync"}"#) }
        let refused = try await client.answered(1025)
        #expect(refused["error"] == .string("1024 watches and waits are open"))
        #expect(client.answer(to: 1024) == nil)
        #expect(try await client.end() == 0)
        #expect(client.all.count == 1026)
    }

    // MARK: Status and the end

    @Test func theStatusOfAClientThatHasNeverSynced() async throws {
        try await with { client in
            let answer = try await client.ask(#"{"id":1,"op":"status"}"#)
            #expect(
                answer.text == #"""
                    {"id":1,"ok":true,"connected":false,"connecting":false,"syncedElsewhere":false,\#
                    "hasSynced":false,"lastSyncedAt":null,"downloading":false,"uploading":false,\#
                    "downloadError":null,"uploadError":null,"progress":null}
                    """#)
        }
    }

    @Test func closeIsAnsweredWhenTheDatabaseIsClosed() async throws {
        let folder = try TemporaryDirectory(prefix: "client-")
        let path = folder.path + "/c.db"
        let client = try DrivenClient(Self.options(path))
        _ = try await client.ask(Self.insert(1, 1))
        #expect(FileManager.default.fileExists(atPath: path + "-wal"))
        client.send(
            #"{"id":2,"op":"wait","for":"first-sync"}"#, #"{"id":3,"op":"close"}"#,
            #"{"id":4,"op":"crud-count"}"#)
        #expect(try await client.endByItself() == 0)
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
        #expect(client.all.last?.text == #"{"id":3,"ok":true}"#)
        #expect(client.answer(to: 2)?["code"] == .string("closed"))
        #expect(client.answer(to: 4) == nil)
    }

    @Test func aSignalEndsItAsTheEndOfTheInputDoes() async throws {
        let folder = try TemporaryDirectory(prefix: "client-")
        let path = folder.path + "/c.db"
        let client = try DrivenClient(Self.options(path))
        client.send(#"{"id":1,"op":"wait","for":"first-sync"}"#)
        _ = try await client.ask(Self.insert(2, 1))
        client.signal(15)
        #expect(try await client.endByItself() == nil)
        #expect(client.answer(to: 1)?["code"] == .string("closed"))
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
    }

    private static let numbers = "WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c)"

    /// How a driving program ends the tool.
    enum Ending: CaseIterable {
        case input, close, signal
    }

    /// Its command is answered before the end, and so is what waits behind it; what it wrote is undone.
    @Test(
        arguments: [
            #""op":"read","sql":"\#(numbers) SELECT count(*) FROM c""#,
            #""op":"write","tx":[["CREATE TABLE plain AS \#(numbers) SELECT n FROM c"]]"#,
            #""op":"watch","sql":"\#(numbers) SELECT count(*) FROM c""#,
        ], Ending.allCases)
    func aStatementThatDoesNotEndHoldsUpNoEnd(command: String, ending: Ending) async throws {
        let folder = try TemporaryDirectory(prefix: "client-")
        let path = folder.path + "/c.db"
        let client = try DrivenClient(Self.options(path), finishingWithin: .milliseconds(1))
        _ = try await client.ask(Self.insert(1, 1))
        client.send(#"{"id":2,\#(command)}"#)
        switch ending {
        case .input: #expect(try await client.end() == 0)
        case .close:
            client.send(#"{"id":3,"op":"close"}"#)
            #expect(try await client.endByItself() == 0)
            #expect(client.all.last?.text == #"{"id":3,"ok":true}"#)
        case .signal:
            // Not before it is in work: what is read after a signal is nobody's command.
            _ = try await client.ask(#"{"id":4,"op":"wait","for":"queue-empty","timeout":0.001}"#)
            client.signal(15)
            #expect(try await client.endByItself() == nil)
        }
        #expect(
            client.answer(to: 2)?.text
                == #"{"id":2,"ok":false,"error":"the client ends before that","code":"closed"}"#)
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
        let next = try DrivenClient(Self.options(path))
        let left = try await next.ask(
            #"{"id":1,"op":"read","sql":"SELECT name FROM sqlite_schema WHERE name = 'plain'"}"#)
        #expect(left["rows"]?.text == "[]")
        #expect(try await next.end() == 0)
    }

    /// What is short is done all the same: there is time for it.
    @Test func whatIsInWorkAtTheEndHasItsTime() async throws {
        let folder = try TemporaryDirectory(prefix: "client-")
        let client = try DrivenClient(Self.options(folder.path + "/c.db"))
        client.send(
            #"""
            {"id":1,"op":"read","sql":"\#(Self.numbers) SELECT sum(n) AS s FROM (SELECT n FROM c LIMIT 200000)"}
            """#, #"{"id":2,"op":"close"}"#)
        #expect(try await client.endByItself() == 0)
        #expect(client.answer(to: 1)?["rows"]?.text == #"[{"s":20000100000}]"#)
    }

    /// Whether it waits for commands, has some in work or comes to its end: nobody would learn what becomes of them.
    @Test(arguments: [
        [#"{"id":2,"op":"crud-count"}"#],
        [
            #"{"id":3,"op":"read","sql":"\#(numbers) SELECT count(*) FROM c"}"#,
            #"{"id":2,"op":"crud-count"}"#,
        ], [#"{"id":2,"op":"close"}"#],
    ])
    func whereNobodyReadsIsTheEnd(commands: [String]) async throws {
        let folder = try TemporaryDirectory(prefix: "client-")
        let path = folder.path + "/c.db"
        let client = try DrivenClient(
            Self.options(path),
            reading: { line in
                if line.hasPrefix(#"{"id":2"#) { throw SystemError(.file, "the disk is full", errno: 28) }
            })
        _ = try await client.ask(Self.insert(1, 1))
        for command in commands { client.send(command) }
        let error = await #expect(throws: StackError.self) { try await client.endByItself() }
        #expect(error?.message.hasPrefix("the disk is full: ") == true)
        #expect(client.answer(to: 2) == nil)
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
    }

    @Test func aDatabaseThatCannotBeOpenedIsAnErrorBeforeThereIsAnyLine() async throws {
        let folder = try TemporaryDirectory(prefix: "client-")
        let client = try DrivenClient(Self.options(folder.path))
        let error = await #expect(throws: PowerSyncError.self) { try await client.endByItself() }
        #expect(error?.code == .fileAccess)
        #expect(client.all.isEmpty)
    }
}
