#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Bytes of files.
package enum FileBytes {
    /// How many bytes a text may have that is read as a whole: what people and their tools write has fewer, and a path may
    /// lead to something without an end.
    package static let textLimit = 64 << 20

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

    /// Reads a whole file of text.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - limit: How many bytes it may have.
    /// - Returns: Its text, without a mark of UTF-8 before it.
    /// - Throws: `SystemError` with `file`; without an error number for what is too long or no UTF-8.
    package static func text(
        ofFile path: String, limit: Int = FileBytes.textLimit
    ) throws(SystemError) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(.file, "cannot read \(path)", errno: errno) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Self.readOn(descriptor, &buffer)
            guard count != 0 else { break }
            guard count > 0 else { throw SystemError(.file, "cannot read \(path)", errno: errno) }
            bytes += buffer[..<count]
            guard bytes.count <= limit else {
                throw SystemError(.file, "\(path) is longer than \(limit) bytes")
            }
        }
        // Editors that put the mark of UTF-8 before a text mean nothing by it.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw SystemError(.file, "\(path) is not a text in UTF-8")
        }
        return text
    }

    /// The call of the system, which a method of this type hides by its name; a signal does not end it.
    private static func readOn(_ descriptor: Int32, _ buffer: inout [UInt8]) -> Int {
        while true {
            #if canImport(Darwin)
                let count = Darwin.read(descriptor, &buffer, buffer.count)
            #elseif canImport(Musl)
                let count = Musl.read(descriptor, &buffer, buffer.count)
            #else
                let count = Glibc.read(descriptor, &buffer, buffer.count)
            #endif
            if count >= 0 || errno != EINTR { return count }
        }
    }
}
