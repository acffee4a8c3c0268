import Foundation
import PowerSyncMockService
import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncWire
import Testing

@testable import PowerSyncStack

/// Which text is checked, and which file its places are of.
struct SyncConfigTextTests {
    private func read(
        _ path: String, _ files: [String: String], environment: [String: String] = [:]
    ) throws -> SyncConfigText {
        try SyncConfigText.read(path, environment: environment) { path throws(SystemError) in
            guard let text = files[path] else {
                throw SystemError(.file, "cannot read \(path)", errno: ENOENT)
            }
            return text
        }
    }

    /// What is told of a key that nobody knows.
    private func unknownKey(_ checked: SyncConfigText) throws -> PlacedDiagnostic {
        try #require(ConfigurationCheck(checked).diagnostics.first { $0.name == .unknownKey })
    }

    @Test func aSyncConfigIsItsFile() throws {
        let text = "config: {edition: 3, nope: 1}\nstreams: {}\n"
        let checked = try read("a/sync.yaml", ["a/sync.yaml": text])
        #expect(checked.file == "a/sync.yaml" && checked.text == text)
        let found = try unknownKey(checked)
        #expect(found.start == .init(21, in: SourceText(text)))
        #expect(found.start.line == 1 && found.start.column == 22 && found.end.column == 26)
    }

    @Test func aTextOfAServiceConfigurationHasPlacesThere() throws {
        for (content, line, column) in [
            ("|\n    config:\n      nope: 1\n", 5, 7), ("\"config:\\n  nope: 1\"\n", 3, 24),
            (">-\n    {config: {nope: 1}}\n", 4, 15), ("'{config: {nope: 1}}'\n", 3, 23),
        ] {
            for key in ["sync_config", "sync_rules"] {
                let text = "replication: {}\n\(key):\n  content: \(content)"
                let checked = try read("service.yaml", ["service.yaml": text])
                let found = try unknownKey(checked)
                #expect(checked.file == "service.yaml")
                #expect(found.start.line == line && found.start.column == column, "\(content)")
                let bytes = checked.source.bytes[found.range.start..<found.range.end]
                #expect(String(decoding: bytes, as: UTF8.self) == "nope")
            }
        }
    }

    @Test func aFileThatIsNamedHasItsOwn() throws {
        let config = "config: {nope: 1}\n"
        for (path, named, other) in [
            ("conf/service.yaml", "rules/sync.yaml", "conf/rules/sync.yaml"),
            ("service.yaml", "sync.yaml", "sync.yaml"), ("a/service.yaml", "/b/sync.yaml", "/b/sync.yaml"),
            ("/service.yaml", "sync.yaml", "/sync.yaml"), ("x.yaml", "!env PS_SYNC", "of-variable"),
        ] {
            let checked = try read(
                path, [path: "sync_config:\n  path: \(named)\n", other: config],
                environment: ["PS_SYNC": "of-variable"])
            #expect(checked.file == other && checked.text == config)
            #expect(try unknownKey(checked).start.column == 10)
        }
    }

    @Test func whatStandsInAVariableIsToldAtTheVariable() throws {
        let text = "sync_config: {content: !env PS_SYNC}"
        let checked = try read("x", ["x": text], environment: ["PS_SYNC": "config: {nope: 1}"])
        let found = try unknownKey(checked)
        #expect(found.range == TextRange(start: 28, end: 35))
    }

    @Test func whatCannotBeReadIsSaid() {
        for (text, message) in [
            ("replication: {}", "x:1:1: 'sync_config' is missing: its 'path' or 'content'"),
            ("sync_config: {}", "x:1:14: 'path' or 'content' is missing"),
            ("sync_config: {path: elsewhere}", "x:1:21: the sync config 'elsewhere' is not there"),
            ("sync_config: {path: !env PS_NO}", "x:1:21: PS_NO is not set"),
            ("sync_config: {path: !file a}", "x:1:21: the tag !file is not known"),
            ("sync_config: {content: [a]}", "x:1:24: a text is expected here"),
        ] {
            let error = #expect(throws: StackError.self) { try read("x", ["x": text]) }
            #expect(error?.message == message)
        }
        let error = #expect(throws: StackError.self) { try read("none", [:]) }
        #expect(error?.message.hasPrefix("cannot read none: ") == true)
    }

    /// Service and command read the same files, and take and refuse the same.
    @Test(arguments: [
        "sync_config: {path: sync.yaml}", "sync_config: {path: !env PS_SYNC}",
        "sync_config: {path: !env OTHER}",
        "sync_config: {path: !env PS_SYNC::number}", "sync_config: {path: !env PS_SYNC::text}",
        "sync_config: {path: !env PS_NO}", "sync_config: {path: nothere.yaml}", "sync_config: {path: [a]}",
        "sync_config: {path: ~, content: 'streams: {}'}", "sync_config: {content: !env PS_SYNC}",
        "sync_config: {content: !env OTHER}", "sync_config: {content: !file a}", "sync_config: {}",
        "sync_rules: {path: /sync.yaml}", "port: 1",
    ])
    func theServiceReadsTheSame(_ line: String) {
        let text = """
            replication: {connections: [{type: postgresql, uri: 'host=h dbname=d', sslmode: disable}]}
            storage: {type: sqlite, path: s}
            \(line)

            """
        let files = ["conf/x.yaml": text, "conf/sync.yaml": "streams: {}", "/sync.yaml": "streams: {a: 1}"]
        let environment = ["PS_SYNC": "sync.yaml", "OTHER": "sync.yaml"]
        let checked: Result<SyncConfigText, any Error> = Result {
            try read("conf/x.yaml", files, environment: environment)
        }
        let served: Result<SyncConfigText, any Error> = Result {
            try ConfigurationReader.read(
                text, name: "conf/x.yaml",
                inputs: ConfigurationReader.Inputs(
                    environment: environment,
                    readFile: { path throws(SystemError) in
                        guard let text = files[path] else {
                            throw SystemError(.file, "cannot read \(path)", errno: ENOENT)
                        }
                        return text
                    })
            ).service.syncConfig
        }
        func told(_ result: Result<SyncConfigText, any Error>) -> String {
            switch result {
            case .success(let config): "\(config.file) \(config.text) \(String(describing: config.map))"
            case .failure(let error): "\(error)"
            }
        }
        #expect(told(checked) == told(served))
        #expect(told(checked).hasPrefix("conf/") || told(checked).hasPrefix("/sync.yaml streams"))
    }

    @Test func aVariableOfAnotherNameIsRefused() {
        let error = #expect(throws: StackError.self) {
            try read("x", ["x": "sync_config: {path: !env OTHER}"], environment: ["OTHER": "y"])
        }
        #expect(error?.message == "x:1:21: variables must begin with PS_: OTHER")
    }

    @Test func whatIsNoYAMLIsAMistakeOfTheFile() throws {
        let checked = try read("x", ["x": "sync_config: [\n"])
        let check = ConfigurationCheck(checked)
        #expect(check.status(isStrict: false) == 2)
        #expect(check.diagnostics.map(\.name) == [.yamlSyntax])
    }
}
