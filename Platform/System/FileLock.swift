import CPowerSyncSystem

/// A lock on a file that one owner has at a time, and that the system frees when the owner's process ends, however it ends.
///
/// The file is made if it is missing, and stays, empty. Two objects are two owners, also within one process.
package final class FileLock: Sendable {
    private let path: String
    private let model: String
    private let open: @Sendable (_ path: String, _ model: String) -> Int32
    private let openDescriptor = Lock<Int32?>(nil)

    /// Notes where the lock is; nothing is opened before ``take()``.
    ///
    /// - Parameters:
    ///   - path: The file that is locked, which is used for nothing else; no symbolic link.
    ///   - model: The file whose permissions a new one gets.
    ///   - open: Opens the file as ``openFile(_:like:)`` does.
    package init(
        path: String, like model: String,
        open: @escaping @Sendable (_ path: String, _ model: String) -> Int32 = { openFile($0, like: $1) }
    ) {
        self.path = path
        self.model = model
        self.open = open
    }

    deinit { release() }

    /// Opens the file of a lock, which it makes with the permissions of another one; a negative result is an error number.
    package static func openFile(_ path: String, like model: String) -> Int32 {
        powersync_lock_open(path, model)
    }

    /// Takes the lock unless somebody else has it; never blocks.
    ///
    /// The lock of a file that was removed or replaced counts for nothing: its successor's is taken, also in place of one
    /// that this object has had. The file stays open until ``release()``, whoever has the lock.
    ///
    /// - Returns: Whether this object has the lock now.
    /// - Throws: When the file cannot be opened, or its file system knows no locks.
    package func take() throws(SystemError) -> Bool {
        try openDescriptor.withLock { known throws(SystemError) -> Bool in
            // Each turn but the first needs somebody who replaces the file at that moment.
            for _ in 0..<8 {
                let descriptor: Int32
                if let known {
                    descriptor = known
                } else {
                    descriptor = try SystemError.check(open(path, model), .file, "cannot open \(path)")
                    known = descriptor
                }
                let status = powersync_lock_try(descriptor, path)
                if status == Int32(POWERSYNC_LOCK_TAKEN) { return true }
                if status == Int32(POWERSYNC_LOCK_REFUSED) { return false }
                powersync_lock_close(descriptor)
                known = nil
                try SystemError.check(status, .file, "cannot lock \(path)")
            }
            return false
        }
    }

    /// Frees the lock and closes the file.
    package func release() {
        openDescriptor.withLock { open in
            if let open { powersync_lock_close(open) }
            open = nil
        }
    }

    /// The open file, for tests.
    var descriptor: Int32? { openDescriptor.withLock { $0 } }
}
