import PowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A file system that holds little or may not be written to; needs Linux and the right to mount.
///
/// Nothing is left behind, however the process ends: nobody but this object knows where it is mounted, and its path is one
/// through the process's own descriptor. So files in it have no path that leads there without that.
package final class SmallDisk: Sendable {
    /// Its folder.
    package let path: String
    private let descriptor: Int32

    /// Whether tests may have one, for `.enabled("needs the right to mount a tmpfs") { SmallDisk.isPossible }`.
    package static var isPossible: Bool {
        // Whatever the reason is, there is none.
        (try? SmallDisk(bytes: 64 << 10)) != nil
    }

    /// Mounts one.
    ///
    /// - Parameters:
    ///   - bytes: How much its files may have, in pages of the system.
    ///   - isReadOnly: Whether nothing may be written.
    /// - Throws: `SystemError` where that is not possible.
    package init(bytes: Int, isReadOnly: Bool = false) throws(SystemError) {
        #if os(Linux)
            let folder = try TemporaryDirectory(prefix: "small-disk-")
            let (readOnly, detached): (UInt, Int32) = (1, 2)  // MS_RDONLY and MNT_DETACH
            let options = "size=\(bytes),mode=700"
            guard mount("tmpfs", folder.path, "tmpfs", isReadOnly ? readOnly : 0, options) == 0 else {
                throw SystemError(.file, "cannot mount a tmpfs", errno: errno)
            }
            let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            let reason = errno
            umount2(folder.path, detached)
            guard descriptor >= 0 else {
                throw SystemError(.file, "cannot open \(folder.path)", errno: reason)
            }
            self.descriptor = descriptor
            path = "/proc/\(getpid())/fd/\(descriptor)"
        #else
            throw SystemError(.file, "there is no tmpfs")
        #endif
    }

    deinit { close(descriptor) }
}
