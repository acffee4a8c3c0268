import CPowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A file that is written under another name than its own, so that nobody ever sees half of it.
///
/// While it is open this object alone has it, also among processes: whoever else would write or remove it is refused. The
/// system ends that with the process, however it ends; the file stays, to be gone on with or to be removed.
package final class StagedFile: Sendable {
    /// The calls by which a file gets its own name; a negative result is an error number.
    struct Calls: Sendable {
        /// Has what was written brought to the disk.
        var sync: @Sendable (_ descriptor: Int32) -> Int32 = { powersync_file_sync($0) }
        /// Has the names in a folder brought to the disk.
        var syncFolder: @Sendable (_ path: String) -> Int32 = { powersync_folder_sync($0) }
        /// Gives a file another name, in place of what has that.
        var replace: @Sendable (_ old: String, _ new: String) -> Int32 = {
            rename($0, $1) == 0 ? 0 : -errno
        }
        /// Gives a file one more name, unless something has that.
        var add: @Sendable (_ old: String, _ new: String) -> Int32 = {
            linkat(AT_FDCWD, $0, AT_FDCWD, $1, 0) == 0 ? 0 : -errno
        }
        /// Takes a name away.
        var remove: @Sendable (_ path: String) -> Int32 = { unlink($0) == 0 ? 0 : -errno }
    }

    private struct State {
        /// Nil once it is closed.
        var descriptor: Int32?
        var size: Int64
    }

    /// The name under which it is written.
    package let path: String
    private let calls: Calls
    private let state: Lock<State>

    /// Opens the file, which is made with its folders if it is missing; the folders are for this user alone.
    ///
    /// A file that has its own name already, beside this one, is left alone, and begun anew here: whoever gave it that ended
    /// in between.
    ///
    /// - Parameters:
    ///   - path: The name under which it is written; no symbolic link.
    ///   - resuming: Whether to go on behind what is in it; otherwise it is emptied.
    ///   - mode: The permissions of a new one.
    /// - Throws: `SystemError` with `file`; the error number is EWOULDBLOCK while somebody else has it open.
    package convenience init(path: String, resuming: Bool, mode: mode_t = 0o600) throws(SystemError) {
        try self.init(path: path, resuming: resuming, mode: mode, calls: Calls())
    }

    /// The same with other calls of the system.
    init(path: String, resuming: Bool, mode: mode_t = 0o600, calls: Calls) throws(SystemError) {
        let folder = Self.folder(of: path)
        try SystemError.check(powersync_folders_make(folder), .file, "cannot make \(folder)")
        self.path = path
        self.calls = calls
        state = Lock(try Self.hold(path, mode, isEmptied: !resuming))
    }

    deinit { close() }

    /// How many bytes are in it.
    package var size: Int64 { state.withLock { $0.size } }

    /// The open file, for tests.
    var descriptor: Int32? { state.withLock { $0.descriptor } }

    // MARK: What is in it

    /// Writes bytes behind all that is in it.
    ///
    /// - Parameter bytes: The bytes.
    /// - Throws: `SystemError` with `file`, for example when the disk is full; as many as fitted are in it then.
    package func write(_ bytes: [UInt8]) throws(SystemError) {
        try state.withLock { state throws(SystemError) in
            let descriptor = try open(state)
            var left = bytes[...]
            while !left.isEmpty {
                let count = left.withUnsafeBytes {
                    pwrite(descriptor, $0.baseAddress, $0.count, off_t(state.size))
                }
                if count >= 0 {
                    state.size += Int64(count)
                    left = left.dropFirst(count)
                } else if errno != EINTR {
                    throw SystemError(.file, "cannot write \(path)", errno: errno)
                }
            }
        }
    }

    /// Returns bytes of it.
    ///
    /// - Parameters:
    ///   - offset: Where they begin.
    ///   - count: How many.
    /// - Returns: The bytes: fewer at the end, none behind it.
    /// - Throws: `SystemError` with `file`.
    package func read(at offset: Int64, count: Int) throws(SystemError) -> [UInt8] {
        precondition(offset >= 0 && count >= 0, "a place in a file is no negative number")
        return try state.withLock { state throws(SystemError) -> [UInt8] in
            let descriptor = try open(state)
            let most = Int(max(0, min(Int64(count), state.size - offset)))
            var failure: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: most) { buffer, filled in
                while filled < most {
                    let rest = UnsafeMutableBufferPointer(rebasing: buffer[filled..<most])
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
            if failure != 0 { throw SystemError(.file, "cannot read \(path)", errno: failure) }
            return bytes
        }
    }

    /// Leaves the first bytes in it.
    ///
    /// - Parameter size: How many.
    /// - Throws: `SystemError` with `file`.
    package func truncate(to size: Int64) throws(SystemError) {
        try state.withLock { state throws(SystemError) in
            guard ftruncate(try open(state), off_t(size)) == 0 else {
                throw SystemError(.file, "cannot shorten \(path)", errno: errno)
            }
            state.size = size
        }
    }

    // MARK: Its own name

    /// Returns when what was written, and the name it has now, are on the disk: for whoever promises the file before it gets
    /// its own name.
    ///
    /// - Throws: `SystemError` with `file`.
    package func sync() throws(SystemError) {
        try state.withLock { state throws(SystemError) in
            try SystemError.check(calls.sync(try open(state)), .file, "cannot bring \(path) to the disk")
            try Self.syncFolder(of: path, calls)
        }
    }

    /// Gives the file its own name, once it is on the disk as a whole, and closes it; returns when the name is, too.
    ///
    /// If somebody else has given this very file that name meanwhile, this is done. Where it fails the file stays open; where
    /// only the last step failed it has its own name.
    ///
    /// - Parameters:
    ///   - path: The name, on the same file system; its folder is there. A symbolic link is not followed.
    ///   - replacing: Whether it takes the place of what has the name.
    /// - Throws: `SystemError` with `file`; EEXIST where something has the name that may not be replaced.
    package func commit(to path: String, replacing: Bool) throws(SystemError) {
        try state.withLock { state throws(SystemError) in
            let descriptor = try open(state)
            try Self.publish(descriptor, self.path, as: path, replacing: replacing, calls)
            powersync_lock_close(descriptor)
            state.descriptor = nil
        }
    }

    /// Removes the file and closes it; one that has its own name, or is closed, stays.
    ///
    /// What cannot be removed stays for whoever looks for files that nobody has open.
    package func discard() {
        state.withLock { state in
            guard let descriptor = state.descriptor else { return }
            if powersync_leads_to(path, descriptor) { _ = calls.remove(path) }
            powersync_lock_close(descriptor)
            state.descriptor = nil
        }
    }

    /// Closes the file and leaves it, to be gone on with; also done when the last reference goes.
    package func close() {
        state.withLock { state in
            if let descriptor = state.descriptor { powersync_lock_close(descriptor) }
            state.descriptor = nil
        }
    }

    // MARK: One owner

    /// Opens a file for its only owner.
    private static func hold(_ path: String, _ mode: mode_t, isEmptied: Bool) throws(SystemError) -> State {
        // Each turn but the first needs somebody who replaces the file at that moment, or a file that has its own name.
        for _ in 0..<8 {
            let descriptor = try SystemError.check(
                powersync_staged_open(path, true, mode), .file, "cannot open \(path)")
            do throws(SystemError) {
                if let size = try take(descriptor, path, isEmptied: isEmptied) {
                    return State(descriptor: descriptor, size: size)
                }
            } catch {
                powersync_lock_close(descriptor)
                throw error
            }
            powersync_lock_close(descriptor)
        }
        throw SystemError(.file, "somebody replaces \(path) again and again", errno: EWOULDBLOCK)
    }

    /// Takes the lock of an open file, and empties it; returns how many bytes are in it, nil if it has to be opened again.
    private static func take(
        _ descriptor: Int32, _ path: String, isEmptied: Bool
    ) throws(SystemError) -> Int64? {
        let status = try SystemError.check(
            powersync_lock_try(descriptor, path), .file, "cannot lock \(path)")
        if status == Int32(POWERSYNC_LOCK_REFUSED) {
            throw SystemError(.file, "somebody else writes \(path)", errno: EWOULDBLOCK)
        }
        guard status == Int32(POWERSYNC_LOCK_TAKEN) else { return nil }
        var known = stat()
        guard fstat(descriptor, &known) == 0 else {
            throw SystemError(.file, "cannot tell the size of \(path)", errno: errno)
        }
        if known.st_nlink > 1 {
            // Writing would change the file that has its own name.
            try remove(path)
            return nil
        }
        guard isEmptied, known.st_size > 0 else { return Int64(known.st_size) }
        guard ftruncate(descriptor, 0) == 0 else {
            throw SystemError(.file, "cannot empty \(path)", errno: errno)
        }
        return 0
    }

    private func open(_ state: State) throws(SystemError) -> Int32 {
        guard let descriptor = state.descriptor else {
            throw SystemError(.file, "\(path) is closed", errno: EBADF)
        }
        return descriptor
    }
}
