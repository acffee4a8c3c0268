#if os(Linux)
    #if canImport(FoundationEssentials)
        import FoundationEssentials
    #else
        import Foundation
    #endif
#else
    import Foundation
#endif

/// The program that is running.
enum ThisProgram {
    /// Returns its path.
    static func path() throws -> String {
        #if os(Linux)
            return try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        #else
            guard let path = Bundle.main.executablePath else {
                throw BenchmarkError("the path of this program is not known")
            }
            return path
        #endif
    }
}
