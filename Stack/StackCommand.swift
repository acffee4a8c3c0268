import PowerSyncBackend
import PowerSyncCommandLine
import PowerSyncMockService
import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The command `powersync-stack`.
package enum StackCommand {
    /// The command with all its sub-commands.
    package static let command = Command(
        "powersync-stack", abstract: "A complete PowerSync stack on one machine.",
        discussion: """
            Start with the demo; it needs nothing and leaves nothing behind:

              powersync-stack demo

            Then the stack for an app of your own:

              powersync-stack up --schema schema.sql --sync-config sync.yaml
            """,
        subcommands: [
            DemoCommand.command, UpCommand.command, ValidateCommand.command, GenerateSchemaCommand.command,
            ClientCommand.command, TokenCommand.command, ConformanceCommand.command, BackendCommand.command,
            MockServiceCommand.command,
        ])

    /// Runs the command line of this process.
    ///
    /// - Parameter arguments: the words behind the program's name.
    /// - Returns: the exit status.
    package static func main(_ arguments: [String]) async -> Int32 {
        if ProcessInfo.processInfo.environment[StackPart.lifeLineVariable] != nil {
            // What a part writes is for its owner alone: keys, and rows of all users.
            umask(0o077)
            do {
                try LifeLine.follow()
            } catch {
                StandardError.print("error: \(error)")
                return 1
            }
        }
        return await command.main(arguments)
    }
}
