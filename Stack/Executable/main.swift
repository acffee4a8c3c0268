import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncStack

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
exit(await StackCommand.main(Array(CommandLine.arguments.dropFirst())))
