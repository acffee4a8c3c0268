#if os(Linux)
    #if canImport(FoundationEssentials)
        import FoundationEssentials
    #else
        import Foundation
    #endif
#else
    import Foundation
#endif

/// The program that is running, for those who start it again with other arguments.
package enum ThisExecutable {
    /// Returns its path.
    ///
    /// - Throws: `SystemError` with `.file` if the system does not tell it.
    package static func path() throws(SystemError) -> String {
        #if os(Linux)
            // The only error is a system without /proc.
            guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            else {
                throw SystemError(.file, "/proc is not mounted, so this program cannot start itself again")
            }
            return path
        #else
            guard let path = Bundle.main.executablePath else {
                throw SystemError(.file, "the path of this program is not known")
            }
            return path
        #endif
    }
}
