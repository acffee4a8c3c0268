#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The file of the state: of one process at a time, and out of the way when it belongs to another source.
package final class StateFile: Sendable {
    /// Where it lies; no symbolic link.
    package let path: String
    private let lock: Int32

    /// Takes the file for this process, which gives it back when this value goes, however the process ends.
    ///
    /// A replacement that was broken off is completed, or undone.
    ///
    /// - Parameter path: the file; it need not be there yet.
    /// - Throws: `StoreError` if another process has it, or its folder cannot be written to.
    package init(_ path: String) throws(StoreError) {
        let file = StateFile.followingLinks(path)
        // A file of its own: closing any descriptor of the database's would release the locks that SQLite has on it.
        lock = open("\(file).lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else {
            throw StoreError(
                message:
                    "The state \(path) cannot be written: \(String(cString: strerror(errno))). Name another file "
                    + "with POWERSYNC_STATE_PATH.")
        }
        self.path = file
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
        if try !completeReplacement() { removeSuccessor() }
    }

    /// The file that a path leads to: SQLite follows symbolic links, also to a file that is not there yet.
    private static func followingLinks(_ path: String) -> String {
        var path = path
        // So many Linux follows. Links to folders lead to the same lock by themselves.
        for _ in 0..<40 {
            var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = readlink(path, &buffer, buffer.count)
            guard count > 0 else { break }
            let target = buffer.withUnsafeBytes { String(decoding: $0.prefix(count), as: UTF8.self) }
            let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
            path = target.hasPrefix("/") ? target : folder + target
        }
        return path
    }

    /// Whether there is a file.
    package var isThere: Bool { access(path, F_OK) == 0 }

    /// Where a state is made that takes the place of this one.
    package var successor: String { "\(path).new" }

    /// Puts the successor in the place of a file that has left it: both are renamed one after the other.
    ///
    /// - Returns: Whether there was one.
    /// - Throws: `StoreError` if that is not possible.
    package func completeReplacement() throws(StoreError) -> Bool {
        guard !isThere, access(successor, F_OK) == 0 else { return false }
        try Self.move(successor, to: path)
        return true
    }

    /// Removes what is left of a state that was to take the place of this one.
    package func removeSuccessor() { for suffix in Self.suffixes { unlink(successor + suffix) } }

    deinit { close(lock) }

    /// Renames the file and what SQLite keeps beside it, and puts the successor in its place.
    ///
    /// - Parameter seconds: the time, in seconds since 1970, which the new name tells.
    /// - Returns: the new name.
    /// - Throws: `StoreError` if that is not possible.
    package func replace(at seconds: Double) throws(StoreError) -> String {
        let time = TimestampText.iso(seconds).replacing(":", with: "-").prefix { $0 != "." }
        var name = "\(path).\(time)"
        var number = 1
        while access(name, F_OK) == 0 {
            number += 1
            name = "\(path).\(time)-\(number)"
        }
        try Self.move(path, to: name)
        try Self.move(successor, to: path)
        return name
    }

    /// The main file comes last: as long as it has its name, what lies beside it belongs to it.
    private static let suffixes = ["-shm", "-wal", ""]

    private static func move(_ path: String, to name: String) throws(StoreError) {
        for suffix in suffixes where access(path + suffix, F_OK) == 0 {
            guard rename(path + suffix, name + suffix) == 0 else {
                throw StoreError(
                    message:
                        "The state \(path) cannot be renamed to \(name): \(String(cString: strerror(errno)))."
                )
            }
        }
    }

    /// Makes the file of a state for this user alone, and takes one that is there from others.
    ///
    /// It holds the rows of every user. What SQLite keeps beside it has its mode.
    ///
    /// - Parameter path: the file; nobody in this process may be about to make it.
    static func makePrivate(_ path: String) {
        guard path != ":memory:" else { return }
        if access(path, F_OK) != 0 {
            // What is wrong with the path SQLite tells next.
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            if descriptor >= 0 { close(descriptor) }
        }
        // By name: closing a descriptor of the file would release the locks that others in this process have on it.
        for suffix in ["", "-wal", "-shm"] {
            var status = stat()
            guard stat(path + suffix, &status) == 0, status.st_mode & 0o077 != 0 else { continue }
            // One of another owner, or on a file system without modes, stays as it is.
            _ = chmod(path + suffix, status.st_mode & 0o700)
        }
    }

    /// The bytes of a state with the log that SQLite keeps beside it; 0 if it is not in a file.
    static func size(_ path: String) -> Int64 {
        ["", "-wal"].reduce(0) { sum, suffix in
            var status = stat()
            return stat(path + suffix, &status) == 0 ? sum + Int64(status.st_size) : sum
        }
    }

    private static func content(_ descriptor: Int32) -> String? {
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = pread(descriptor, &buffer, buffer.count, 0)
        guard count > 1 else { return nil }
        return String(decoding: buffer[..<(count - 1)], as: UTF8.self)
    }
}
