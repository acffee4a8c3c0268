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

    /// In a process of its own, because a command takes the signals of its process.
    @Test func aConfigurationThatCannotBeUsedEndsWith150() async {
        await #expect(processExitsWith: .success) {
            typealias Own = MockServiceCommandTests
            let folder = try TemporaryDirectory(prefix: "command-")
            defer { folder.remove() }
            let configuration = Own.encoded(
                """
                replication: { connections: [{ type: postgresql, uri: 'host=127.0.0.1', sslmode: disable }] }
                storage: { type: sqlite, path: '\(folder.path)/state.db' }
                """)
            #expect(await Own.status("-c", folder.path + "/none.yaml") == 150)
            #expect(await Own.status("-c64", "!") == 150)
            #expect(await Own.status("-c64", Own.encoded("port: 1")) == 150)
            #expect(await Own.status("-r", "api", "-c64", configuration) == 150)
            // The sync config is given beside it, and has an error.
            let syncConfig = Own.encoded("config: {edition: 9}")
            #expect(await Own.status("-r", "unified", "-c64", configuration, "-sync64", syncConfig) == 150)
            // A command line that cannot be understood is another matter.
            #expect(await Own.status("-x") == 64)
        }
    }
}
