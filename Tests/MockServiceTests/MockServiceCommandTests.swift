import Foundation
import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncMockService
import PowerSyncSystem
import Testing

/// Service 8: what cannot be started ends with the status 150.
struct MockServiceCommandTests {
    private static func status(_ arguments: String...) async -> Int32 {
        await MockServiceCommand.command.main(["start"] + arguments)
    }

    private static func encoded(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    @Test func aVariableThatIsEmptySaysNothing() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            try #require(setenv("POWERSYNC_CONFIG_B64", "", 1) == 0)
            try #require(setenv("POWERSYNC_CONFIG_PATH", "none.yaml", 1) == 0)
            #expect(await MockServiceCommandTests.status() == 150)
        }
        let told = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(told.contains("the configuration file 'none.yaml' cannot be read"), "\(told)")
    }

    /// Without a file there is one name for the state, however the configuration came; here it cannot be made.
    @Test func theStateOfAConfigurationWithoutAFileHasOneName() async throws {
        let folder = try TemporaryDirectory(prefix: "command-")
        defer { folder.remove() }
        for option in ["-c64", "POWERSYNC_CONFIG_B64"] {
            let result = await #expect(
                processExitsWith: .success, observing: [\.standardErrorContent]
            ) { [path = folder.path as String, option = option as String] in
                typealias Own = MockServiceCommandTests
                try #require(FileManager.default.changeCurrentDirectoryPath(path))
                try FileManager.default.createDirectory(
                    atPath: "powersync.state.sqlite.lock", withIntermediateDirectories: true)
                let configuration = Own.encoded(
                    """
                    replication: { connections: [{ type: postgresql, uri: 'host=127.0.0.1 dbname=d', sslmode: disable }] }
                    sync_config:
                      content: "config: {edition: 3}\\nstreams: {lists: {query: SELECT * FROM lists}}"
                    """)
                if option == "-c64" {
                    #expect(await Own.status("-c64", configuration) == 150)
                } else {
                    try #require(setenv(option, configuration, 1) == 0)
                    #expect(await Own.status() == 150)
                }
            }
            let told = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            #expect(told.contains("The state ./powersync.state.sqlite cannot be written"), "\(told)")
        }
    }

    /// The first line begins with the place, too, which editors read; that of a text in the file is in the file.
    @Test func mistakesOfASyncConfigAreToldInTheFile() async throws {
        let folder = try TemporaryDirectory(prefix: "command-")
        defer { folder.remove() }
        let file = folder.path + "/inl.yaml"
        try """
        replication: { connections: [{ type: postgresql, uri: 'host=127.0.0.1 dbname=d', sslmode: disable }] }
        storage: { type: sqlite, path: state.db }
        sync_config:
          content: |
            config: {edition: 3}
            streams:
              a: {query: SELECT * FROM tasks LIMIT 1}
        """.write(toFile: file, atomically: true, encoding: .utf8)
        let result = await #expect(
            processExitsWith: .success, observing: [\.standardErrorContent]
        ) { [file = file as String] in
            #expect(await MockServiceCommandTests.status("-c", file) == 150)
        }
        let told = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(
            told.split(separator: "\n").contains("\(file):7:44: error: LIMIT is not supported"), "\(told)")
    }

    /// In a process of its own, because a command takes the signals of its process.
    @Test func aConfigurationThatCannotBeUsedEndsWith150() async {
        await #expect(processExitsWith: .success) {
            typealias Own = MockServiceCommandTests
            let folder = try TemporaryDirectory(prefix: "command-")
            defer { folder.remove() }
            let configuration = Own.encoded(
                """
                replication: { connections: [{ type: postgresql, uri: 'host=127.0.0.1 dbname=d', sslmode: disable }] }
                storage: { type: sqlite, path: '\(folder.path)/state.db' }
                """)
            #expect(await Own.status("-c", folder.path + "/none.yaml") == 150)
            #expect(await Own.status("-c64", "!") == 150)
            #expect(await Own.status("-c64", Own.encoded("port: 1")) == 150)
            #expect(await Own.status("-r", "api", "-c64", configuration) == 150)
            // Its certificates have no place.
            let encrypted = Own.encoded(
                """
                replication: { connections: [{ type: postgresql, uri: 'host=127.0.0.1 dbname=d', cacert: CA }] }
                storage: { type: sqlite, path: '\(folder.path)/state.db' }
                sync_config: { content: 'config: {edition: 3}' }
                """)
            try #require(setenv("TMPDIR", folder.path + "/none", 1) == 0)
            #expect(await Own.status("-c64", encrypted) == 150)
            // The sync config is given beside it, and has an error.
            let syncConfig = Own.encoded("config: {edition: 9}")
            #expect(await Own.status("-r", "unified", "-c64", configuration, "-sync64", syncConfig) == 150)
            // A command line that cannot be understood is another matter.
            #expect(await Own.status("-x") == 64)
        }
    }
}
