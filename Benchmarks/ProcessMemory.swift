#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// How much memory processes have resident, in bytes.
enum ProcessMemory {
    /// What Linux tells of a process (proc(5), `/proc/pid/status`).
    enum Figure: String {
        /// Now.
        case resident = "VmRSS:"
        /// At most so far.
        case peak = "VmHWM:"
    }

    /// Returns a figure of this process; elsewhere than on Linux its peak.
    static func own(_ figure: Figure) throws -> Int {
        #if os(Linux)
            // Not getrusage: what it tells begins with the peak of the parent.
            return try read("/proc/self/status", figure)
        #else
            var usage = rusage()
            getrusage(RUSAGE_SELF, &usage)
            return usage.ru_maxrss
        #endif
    }

    /// Returns a figure of another process; nil elsewhere than on Linux.
    static func other(_ process: Int32, _ figure: Figure) throws -> Int? {
        #if os(Linux)
            return try read("/proc/\(process)/status", figure)
        #else
            return nil
        #endif
    }

    #if os(Linux)
        private static func read(_ path: String, _ figure: Figure) throws -> Int {
            guard let file = fopen(path, "r") else { throw BenchmarkError("\(path) cannot be read") }
            defer { fclose(file) }
            var line = [CChar](repeating: 0, count: 256)
            while fgets(&line, Int32(line.count), file) != nil {
                let words = String(
                    decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self
                )
                .split { $0 == " " || $0 == "\t" }
                if words.first == figure.rawValue[...], words.count > 1, let kilobytes = Int(words[1]) {
                    return kilobytes * 1024
                }
            }
            throw BenchmarkError("\(path) has no \(figure.rawValue)")
        }
    #endif
}
