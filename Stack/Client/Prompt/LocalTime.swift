#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Times as the clock on the wall shows them.
enum LocalTime {
    /// Returns the time of day, such as 14:03:09.
    static func clock(_ time: Date) -> String { text(time, "%H:%M:%S") }

    /// Returns day and time of day, such as 2026-01-31 14:03:09.
    static func dayAndClock(_ time: Date) -> String { text(time, "%Y-%m-%d %H:%M:%S") }

    private static func text(_ time: Date, _ format: String) -> String {
        var seconds = time_t(time.timeIntervalSince1970)
        var parts = tm()
        localtime_r(&seconds, &parts)
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, format, &parts)
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
