import Foundation
import PowerSync
import PowerSyncConformance
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite struct CoreConformanceTests {
    private static let recordings = Repository.fixtures.appending(path: "core/curated").path

    /// Runs over a folder with these files; returns whether all passed, and the report.
    private func run(
        _ files: [String: String], _ change: (inout CoreConformance) -> Void = { _ in }
    ) throws -> (hasPassed: Bool, report: [String]) {
        let folder = try TemporaryDirectory(prefix: "powersync-conformance-")
        defer { folder.remove() }
        for (name, text) in files {
            let file = URL(filePath: "\(folder.path)/in/\(name)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try text.write(to: file, atomically: false, encoding: .utf8)
        }
        try FileManager.default.createDirectory(
            atPath: folder.path + "/scratch", withIntermediateDirectories: true)
        let report = Lock<[String]>([])
        var conformance = CoreConformance { line in
            report.withLock { $0.append(line.replacingOccurrences(of: folder.path + "/in/", with: "")) }
        }
        change(&conformance)
        let hasPassed = try conformance.run(folder.path + "/in", scratch: folder.path + "/scratch")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/scratch").isEmpty)
        return (hasPassed, report.withLock { $0 })
    }

    private func recording(_ name: String) throws -> String {
        try String(contentsOfFile: "\(Self.recordings)/\(name).json", encoding: .utf8)
    }

    private static func transcript(_ steps: String...) -> String {
        "{\"name\":\"own\",\"client_id\":\"c\",\"steps\":[\(steps.joined(separator: ","))]}"
    }

    @Test(arguments: [TranscriptWay.batches, .functions])
    func findsFilesInFoldersBelowAndNamesThemInOrder(way: TranscriptWay) throws {
        let empty = Self.transcript()
        let result = try run(["b.json": empty, "a/z.json": empty, "a/b/c.json": empty, "notes.txt": "no"]) {
            $0.isVerbose = true
            $0.way = way
        }
        #expect(result.hasPassed)
        #expect(
            result.report == [
                "a/b/c.json: passed", "a/z.json: passed", "b.json: passed", "3 passed, 0 failed",
            ])
    }

    @Test func showsNothingButTheCountWhenAllPass() throws {
        #expect(try run(["a.json": Self.transcript()]).report == ["1 passed, 0 failed"])
    }

    @Test func aFolderWithoutRecordingsIsNoSuccess() throws {
        let error = #expect(throws: StackError.self) { try run(["notes.txt": ""]) }
        #expect(error?.message.hasPrefix("there is no *.json below ") == true)
    }

    @Test func aFolderThatIsNotThereIsAnError() throws {
        let error = #expect(throws: StackError.self) {
            try CoreConformance { _ in }.run("/does/not/exist", scratch: "/does/not/exist")
        }
        #expect(error?.message.hasPrefix("there is no folder /does/not/exist") == true)
    }

    @Test func filesThatAreNoTranscriptsFailWithTheReason() throws {
        let result = try run([
            "1.json": "{", "2.json": "[]", "3.json": Self.transcript("{\"do\":\"fly\"}"),
            "4.json": Self.transcript("{\"do\":\"query\"}"), "5.json": Self.transcript(),
        ])
        #expect(!result.hasPassed)
        #expect(result.report.count == 5)
        #expect(result.report[0].hasPrefix("1.json: "))
        #expect(
            result.report.dropFirst() == [
                "2.json: a transcript is a JSON object with name, client_id and steps",
                "3.json: step 0: there is no step \"fly\"", "4.json: step 0: \"sql\" is missing",
                "1 passed, 4 failed",
            ])
    }

    @Test func aFileThatIsNoTextFailsAlone() throws {
        let folder = try TemporaryDirectory(prefix: "powersync-conformance-")
        defer { folder.remove() }
        try Data([0xFF]).write(to: URL(filePath: folder.path + "/a.json"))
        let report = Lock<[String]>([])
        let conformance = CoreConformance { line in report.withLock { $0.append(line) } }
        #expect(try !conformance.run(folder.path, scratch: folder.path))
        #expect(
            report.withLock { $0 } == [
                "\(folder.path)/a.json is not a text in UTF-8", "0 passed, 1 failed",
            ])
    }

    @Test func aWrongExpectationIsShownWithWhatDiffersAlone() throws {
        let schema = """
            {"do":"replace_schema","schema":{"tables":[{"name":"t","columns":[{"name":"x","type":"text"}]}]}}
            """
        let write = """
            {"do":"sql","statements":[["INSERT INTO t(id, x) VALUES ('a', 'b')", []]]}
            """
        let query = """
            {"do":"query","sql":"SELECT id, x FROM t UNION ALL SELECT 'k', 'l'","expect":[["a","other"],["k","l"]]}
            """
        let start = """
            {"do":"start","expect":[]}
            """
        let failure = """
            {"do":"query","sql":"SELECT nothing","expect":[]}
            """
        let error = """
            {"do":"stop","expect_error":true}
            """
        let result = try run(["a.json": Self.transcript(schema, write, query, start, failure, error)])
        #expect(!result.hasPassed)
        let lines = result.report.flatMap { $0.split(separator: "\n").map(String.init) }
        #expect(
            lines.prefix(4) == [
                "a.json: step 2 (query): instructions", "    - [\"a\",\"other\"]", "    + [\"a\",\"b\"]",
                "a.json: step 3 (start): instructions",
            ])
        #expect(lines.contains { $0.hasPrefix("    + [0]: {\"UpdateSyncStatus\":") })
        #expect(lines.contains("a.json: step 4 (query): error"))
        #expect(lines.contains("    - no error"))
        #expect(lines.contains("a.json: step 5 (stop): error"))
        #expect(lines.last == "0 passed, 1 failed")
    }

    @Test func aTableThatDiffersIsShownWithItsColumnsAndRowsThatDiffer() throws {
        let text = try recording("first_sync").replacingOccurrences(
            of: "ps_untyped\": []", with: "ps_untyped\": [[\"a\",\"b\",\"c\"]]")
        let result = try run(["a.json": text])
        #expect(!result.hasPassed)
        #expect(
            result.report.first?.contains(": ps_untyped (type, id, data)\n    - [\"a\",\"b\",\"c\"]") == true)
    }

    @Test func anExceptionGoesByTheNameInTheTranscript() throws {
        let known = try recording("clear_soft_and_hard")
        let elsewhere = try run(["some/where/else.json": known]) { $0.isVerbose = true }
        #expect(elsewhere.hasPassed)
        #expect(
            elsewhere.report[0].hasPrefix("some/where/else.json: passed; differs on purpose at 37, 38, 39"))
        let renamed = known.replacingOccurrences(of: "\"clear_soft_and_hard\"", with: "\"unknown\"")
        let unknown = try run(["clear_soft_and_hard.json": renamed])
        #expect(!unknown.hasPassed)
        #expect(unknown.report[0].hasPrefix("clear_soft_and_hard.json: step 37 (line): instructions\n"))
    }

    @Test func aFileAloneIsReplayedToo() throws {
        let folder = try TemporaryDirectory(prefix: "powersync-conformance-")
        defer { folder.remove() }
        let conformance = CoreConformance { _ in }
        #expect(
            try conformance.run("\(Self.recordings)/clear_soft_and_hard.json", scratch: folder.path))
    }
}
