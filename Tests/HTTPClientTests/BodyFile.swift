import PowerSyncHTTPClient
import PowerSyncSystem
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A file whose content is known, for bodies.
struct BodyFile {
    let path: String
    let size: Int64

    /// All of it.
    var body: HTTPFileBody { HTTPFileBody(path: path, offset: 0, length: size) }

    /// Makes one that has so many bytes of 0 and takes no room.
    init(_ size: Int, in folder: TemporaryDirectory) throws {
        path = folder.path + "/body"
        self.size = Int64(size)
        let descriptor = creat(path, 0o600)
        try #require(descriptor >= 0)
        close(descriptor)
        try resize(self.size)
    }

    /// Makes one of these bytes.
    init(_ bytes: [UInt8], in folder: TemporaryDirectory) throws {
        path = folder.path + "/body"
        size = Int64(bytes.count)
        let descriptor = creat(path, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        try #require(write(descriptor, bytes, bytes.count) == bytes.count)
    }

    /// Gives it another size.
    func resize(_ size: Int64) throws { try #require(truncate(path, off_t(size)) == 0) }

    /// Bytes among which no region looks like the one beside it.
    static func bytes(_ count: Int) -> [UInt8] {
        let period = (0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ $0 >> 8) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + period.count)
        while bytes.count < count { bytes += period }
        return Array(bytes.prefix(count))
    }
}
