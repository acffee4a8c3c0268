#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// What a program under test wrote, which may be anything and any amount.
package enum LogFile {
    /// Returns the last lines of a file, in one.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - limit: how many of its last bytes are read.
    /// - Returns: four lines at most; empty for a file that is empty or not there.
    package static func end(_ path: String, limit: Int = 64 << 10) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        // What is shorter is read from its begin.
        if lseek(file, -off_t(limit), SEEK_END) < 0 { lseek(file, 0, SEEK_SET) }
        var bytes = [UInt8](repeating: 0, count: limit)
        var filled = 0
        while filled < limit {
            let count = bytes.withUnsafeMutableBytes {
                read(file, $0.baseAddress?.advanced(by: filled), limit - filled)
            }
            guard count > 0 else { break }
            filled += count
        }
        let text = String(decoding: bytes[..<filled], as: UTF8.self)
        let lines = text.split(whereSeparator: \.isNewline).suffix(4).joined(separator: " | ")
        return String(lines.suffix(800))
    }
}
