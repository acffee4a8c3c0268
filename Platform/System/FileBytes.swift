#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Bytes of files that are open.
package enum FileBytes {
    /// Reads bytes from a place on; where else the file is being read stays as it is.
    ///
    /// - Parameters:
    ///   - descriptor: The open file.
    ///   - name: What it is called in an error.
    ///   - offset: Where the bytes begin.
    ///   - count: How many.
    /// - Returns: The bytes: fewer at the end, none behind it.
    /// - Throws: `SystemError` with `file`.
    package static func read(
        _ descriptor: Int32, called name: String, at offset: Int64, count: Int
    ) throws(SystemError) -> [UInt8] {
        precondition(offset >= 0 && count >= 0, "a place in a file is no negative number")
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let rest = UnsafeMutableBufferPointer(rebasing: buffer[filled..<count])
                let got = pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(filled))
                if got > 0 {
                    filled += got
                } else if got == 0 {
                    break
                } else if errno != EINTR {
                    failure = errno
                    break
                }
            }
        }
        if failure != 0 { throw SystemError(.file, "cannot read \(name)", errno: failure) }
        return bytes
    }
}
