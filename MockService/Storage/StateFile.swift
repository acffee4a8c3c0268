#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The file of the state: of one process at a time, and out of the way when it belongs to another source.
final class StateFile: Sendable {
    let path: String
    private let lock: Int32

    /// Takes the file for this process, which gives it back when this value goes, however the process ends.
    ///
    /// - Parameter path: the file; it need not be there yet.
    /// - Throws: `StoreError` if another process has it, or its folder cannot be written to.
    init(_ path: String) throws(StoreError) {
        // A file of its own: closing any descriptor of the database's would release the locks that SQLite has on it.
        lock = open("\(path).lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else {
            throw StoreError(
                message:
                    "The state \(path) cannot be written: \(String(cString: strerror(errno))). Name another file "
                    + "with POWERSYNC_STATE_PATH.")
        }
        self.path = path
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            let owner = Self.content(lock)
            throw StoreError(
                message:
                    "[PSYNC_S1003] The state \(path) is in use by another process\(owner.map { " (\($0))" } ?? ""): "
                    + "stop that one, or give this service a file of its own.")
        }
        // Only for the message above: the lock itself needs no content.
        let text = Array("process \(getpid())\n".utf8)
        _ = ftruncate(lock, 0)
        _ = pwrite(lock, text, text.count, 0)
    }

    deinit { close(lock) }

    /// Renames the file and what SQLite keeps beside it.
    ///
    /// - Parameter seconds: the time, in seconds since 1970, which the new name tells.
    /// - Returns: the new name.
    /// - Throws: `StoreError` if that is not possible.
    func setAside(at seconds: Double) throws(StoreError) -> String {
        let time = TimestampText.iso(seconds).replacing(":", with: "-").prefix { $0 != "." }
        var name = "\(path).\(time)"
        var number = 1
        while access(name, F_OK) == 0 {
            number += 1
            name = "\(path).\(time)-\(number)"
        }
        // The main file comes last: as long as it has its name, what lies beside it belongs to it.
        for suffix in ["-shm", "-wal", ""] where access(path + suffix, F_OK) == 0 {
            guard rename(path + suffix, name + suffix) == 0 else {
                throw StoreError(
                    message:
                        "The state \(path) cannot be renamed to \(name): \(String(cString: strerror(errno)))."
                )
            }
        }
        return name
    }

    private static func content(_ descriptor: Int32) -> String? {
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = pread(descriptor, &buffer, buffer.count, 0)
        guard count > 1 else { return nil }
        return String(decoding: buffer[..<(count - 1)], as: UTF8.self)
    }
}
