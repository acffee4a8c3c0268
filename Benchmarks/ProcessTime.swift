#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// For how long processes had a processor.
enum ProcessTime {
    /// Returns the seconds of all threads of another process so far; nil elsewhere than on Linux.
    ///
    /// - Throws: `BenchmarkError` if the process is not there.
    static func other(_ process: Int32) throws(BenchmarkError) -> Double? {
        #if os(Linux)
            // To the nanosecond: what `/proc` tells counts in hundredths of a second.
            var clock = clockid_t()
            var time = timespec()
            guard clock_getcpuclockid(process, &clock) == 0, clock_gettime(clock, &time) == 0 else {
                throw BenchmarkError("process \(process) has no processor time")
            }
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        #else
            return nil
        #endif
    }
}
