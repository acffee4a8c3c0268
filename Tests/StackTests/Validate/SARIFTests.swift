import Foundation
import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncStack

/// Diagnostics for programs: JSON and SARIF.
@Suite(.patient())
struct SARIFTests {
    private static let text = "config:\n  nope: 1\n  ünknown: 2\n"

    private static let check = CheckedParts.check(
        text,
        [
            CheckedParts.diagnostic(.unknownKey, ["nope"], at: 10..<14),
            CheckedParts.diagnostic(.columnUnknown, at: 20..<28),
            CheckedParts.diagnostic(.constantFails, ["a \"text\", with a comma"], at: 0..<32),
        ], file: "conf/my sync.yaml")

    @Test func jsonHasAllPlaces() throws {
        let json = try JSON.parse(try #require(Self.check.report(.json)))
        #expect(json["file"]?.stringValue == "conf/my sync.yaml")
        let all = try #require(json["diagnostics"]?.arrayValue)
        #expect(
            all.map(\.text) == [
                #"{"name":"constant-fails","severity":"error","message":"a \"text\", with a comma","#
                    + #""line":1,"#
                    + #""column":1,"endLine":4,"endColumn":1,"start":0,"end":32}"#,
                #"{"name":"unknown-key","severity":"error","message":"Unknown key 'nope'.","line":2,"#
                    + #""column":3,"endLine":2,"endColumn":7,"start":10,"end":14}"#,
                #"{"name":"column-unknown","severity":"warning","message":"Column not found.","line":3,"#
                    + #""column":3,"endLine":3,"endColumn":10,"start":20,"end":28}"#,
            ])
        let none = CheckedParts.check("x", []).report(.json)
        #expect(none == #"{"file":"sync.yaml","diagnostics":[]}"#)
    }

    @Test func sarifHasAllNamesAsRules() throws {
        let log = try JSON.parse(try #require(Self.check.report(.sarif)))
        #expect(log["version"]?.stringValue == "2.1.0")
        let run = try #require(log["runs"]?.arrayValue?.first)
        let driver = try #require(run["tool"]?["driver"])
        let rules = try #require(driver["rules"]?.arrayValue)
        #expect(rules.compactMap { $0["id"]?.stringValue } == DiagnosticName.allCases.map(\.rawValue))
        for rule in rules {
            let text = try #require(rule["shortDescription"]?["text"]?.stringValue)
            #expect(!text.contains("{}") && text.count > 5)
        }
        #expect(run["columnKind"]?.stringValue == "unicodeCodePoints")
        let results = try #require(run["results"]?.arrayValue)
        #expect(results.count == 3)
        #expect(results[1]["ruleId"]?.stringValue == "unknown-key")
        #expect(results.map { $0["level"]?.stringValue } == ["error", "error", "warning"])
        let place = try #require(results[2]["locations"]?.arrayValue?.first?["physicalLocation"])
        #expect(place["artifactLocation"]?["uri"]?.stringValue == "conf/my%20sync.yaml")
        #expect(
            place["region"]?.text
                == #"{"startLine":3,"startColumn":3,"endLine":3,"endColumn":10,"byteOffset":20,"#
                + #""byteLength":8}"#)
    }

    @Test func absolutePathsAreURIs() throws {
        let check = CheckedParts.check(
            "x", [CheckedParts.diagnostic(.columnUnknown, at: 0..<1)], file: "/tmp/é%#.yaml")
        #expect(try #require(check.report(.sarif)).contains("\"uri\":\"file:///tmp/%C3%A9%25%23.yaml\""))
    }

    /// The program of PyPI's `sarif-tools`; nil if it is not there.
    private static let reader: String? = {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return path.split(separator: ":").map { "\($0)/sarif" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    @Test(.enabled("sarif-tools is not there") { SARIFTests.reader != nil && TestOptions.hasDatabase })
    func everyMessageIsListedAtItsLine() async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-sarif-")
        defer { folder.remove() }
        let file = folder.path + "/sync.sarif"
        try Data(try #require(Self.check.report(.sarif)).utf8).write(to: URL(filePath: file))
        let listed = folder.path + "/listed.csv"
        let run = try await ChildProcess.run(
            try #require(Self.reader), ["csv", "--output", listed, file], timeout: TestOptions.deadline)
        #expect(run.status == .exited(0), "\(run.error)")
        let lines = try String(contentsOfFile: listed, encoding: .utf8).split(whereSeparator: \.isNewline)
        #expect(
            Set(lines.dropFirst()) == [
                #"powersync-stack,error,constant-fails,"a ""text"", with a comma",conf/my%20sync.yaml,1"#,
                "powersync-stack,error,unknown-key,Unknown key 'nope'.,conf/my%20sync.yaml,2",
                "powersync-stack,warning,column-unknown,Column not found.,conf/my%20sync.yaml,3",
            ])
    }
}
