#if canImport(FoundationEssentials)
    import FoundationEssentials
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif
import PowerSyncMockService
import PowerSyncCommandLine

exit(await MockServiceCommand.command.main(Array(CommandLine.arguments.dropFirst())))
