import PowerSyncCommandLine

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A program that a command line names; it will run in another folder.
enum NamedProgram {
    /// Returns the path from the root.
    ///
    /// - Parameters:
    ///   - path: the path as it was given.
    ///   - option: the option that it was given to.
    /// - Returns: the path.
    /// - Throws: `CommandError` if there is no program.
    static func path(_ path: String, of option: Option) throws(CommandError) -> String {
        guard access(path, X_OK) == 0, let resolved = realpath(path, nil) else {
            throw CommandError("\(option.name): \(path) is no program", exitStatus: CommandError.usageStatus)
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
