#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The lock on the file `lock` of a folder, which one program has at a time, and no longer than it lives.
package final class FolderLock: Sendable {
    /// How long another program may take to leave: the lock of one that was killed may last for a moment.
    package static let patience = Duration.seconds(5)
    private static let pause = Duration.milliseconds(20)

    private let descriptor: Int32

    /// Opens the file, which is made if it is missing; nothing is locked before ``take(within:whenWaiting:)``.
    ///
    /// - Parameters:
    ///   - folder: The folder.
    ///   - mode: The permissions of a new file.
    /// - Throws: When the file cannot be opened.
    package init(_ folder: String, mode: mode_t) throws(SystemError) {
        let opened = open("\(folder)/lock", O_RDWR | O_CREAT | O_CLOEXEC, mode)
        guard opened >= 0 else { throw SystemError(.file, "cannot write in \(folder)", errno: errno) }
        descriptor = opened
    }

    deinit { close(descriptor) }

    /// Takes the lock, waiting for another program to leave.
    ///
    /// - Parameters:
    ///   - patience: How long to wait, counted in pauses: while a machine stands still nobody leaves.
    ///   - whenWaiting: Is told once, if that takes a moment.
    /// - Returns: Whether this object has the lock now, until it is released or goes.
    /// - Throws: `CancellationError`.
    package func take(
        within patience: Duration = FolderLock.patience, whenWaiting: () -> Void = {}
    ) async throws -> Bool {
        var waited = Duration.zero
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard waited < patience else { return false }
            if waited == .zero { whenWaiting() }
            try await Task.sleep(for: Self.pause)
            waited += Self.pause
        }
        return true
    }

    /// Lets others take the lock.
    package func release() { _ = flock(descriptor, LOCK_UN) }
}
