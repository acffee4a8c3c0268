import PowerSyncStack

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

exit(await StackCommand.main(Array(CommandLine.arguments.dropFirst())))
