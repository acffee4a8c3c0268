import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncMockService
import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

// Here, because what runs tasks opens descriptors, too.
StandardStreams.replaceClosed()
Libcrypto.staysUntilTheEnd()
Memory.mapsLargePieces()
exit(await MockServiceCommand.command.main(Array(CommandLine.arguments.dropFirst())))
