import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncStack
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
exit(await StackCommand.main(Array(CommandLine.arguments.dropFirst())))
