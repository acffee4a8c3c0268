#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// What a small file holds, also one of `/proc`, which has no size; nil if it cannot be read.
///
/// Foundation's way leaks its buffer when the file is empty, as a file is that is just being written.
func bytes(ofFile path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = read(descriptor, &buffer, buffer.count)
        guard count > 0 else { return count == 0 ? bytes : nil }
        bytes += buffer[..<count]
    }
}
