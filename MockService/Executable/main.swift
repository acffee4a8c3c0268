import PowerSyncCommandLine
import PowerSyncMockService

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

// Here, because what runs tasks opens descriptors, too.
StandardStreams.replaceClosed()
exit(await MockServiceCommand.command.main(Array(CommandLine.arguments.dropFirst())))
