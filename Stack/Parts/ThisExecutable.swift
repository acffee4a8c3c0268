#if os(Linux)
    #if canImport(FoundationEssentials)
        import FoundationEssentials
    #else
        import Foundation
    #endif
#else
    import Foundation
#endif

/// The program that is running, which the stack starts again for each part.
enum ThisExecutable {
    /// Returns its path.
    ///
    /// - Throws: `StackError` if the system does not tell it.
    static func path() throws(StackError) -> String {
        #if os(Linux)
            // The only error is a system without /proc.
            guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            else {
                throw StackError(
                    .file, "/proc is not mounted: mount it, the stack needs the path of its own program")
            }
            return path
        #else
            guard let path = Bundle.main.executablePath else {
                throw StackError(.file, "the path of this program is not known")
            }
            return path
        #endif
    }
}
