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
        /// Gives a file another name, unless something has that; where that is no single step the old name stays, too.
        var add: @Sendable (_ old: String, _ new: String) -> Int32 = {
            let status = powersync_rename_new($0, $1)
            // Of these two a file system has at least one: vfat has no links, NFS knows no flags.
            return status == -ENOTSUP ? StagedFile.link($0, $1) : status
        }
        /// Takes a name away.
        var remove: @Sendable (_ path: String) -> Int32 = { unlink($0) == 0 ? 0 : -errno }
    }

    private struct State {
        /// Nil once it is closed.
        var descriptor: Int32?
        var size: Int64
        /// Whether all that was written is on the disk.
        var isSynced = false
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
    convenience init(path: String, resuming: Bool, mode: mode_t = 0o600, calls: Calls) throws(SystemError) {
        try StagedFile.makeFolder(of: path)
        let held = try StagedFile.hold(path) {
            powersync_staged_open(path, true, mode)
        } taking: { (descriptor) throws(SystemError) -> Int64? in
            try StagedFile.take(descriptor, path, isEmptied: !resuming)
        }
        self.init(path, calls, held)
    }

    /// Makes the file, with its folders, where nothing has its name: what somebody else has left there is never emptied.
    ///
    /// - Parameters:
    ///   - path: The name under which it is written.
    ///   - mode: Its permissions.
    /// - Throws: `SystemError` with `file`; the error number is EEXIST where something has the name.
    package convenience init(new path: String, mode: mode_t = 0o600) throws(SystemError) {
        try StagedFile.makeFolder(of: path)
        let held = try StagedFile.hold(path) {
            powersync_staged_make(path, mode)
        } taking: { (descriptor) throws(SystemError) -> Int64? in
            try StagedFile.lock(descriptor, path)?.size
        }
        self.init(path, Calls(), held)
    }

    /// Opens a file that is there, as it is.
    ///
    /// - Parameter path: The name under which it was written.
    /// - Throws: `SystemError` with `file`; the error number is ENOENT where there is none, EWOULDBLOCK while somebody else
    ///   has it open.
    package convenience init(existing path: String) throws(SystemError) {
        let held = try StagedFile.hold(path) {
            powersync_staged_open(path, false, 0)
        } taking: { (descriptor) throws(SystemError) -> Int64? in
            try StagedFile.lock(descriptor, path)?.size
        }
        self.init(path, Calls(), held)
    }

    /// Gives a file that is there one more name, under which it is kept until it gets its own; it is not written to.
    ///
    /// Discarding takes that name away again, and the file is as it was.
    ///
    /// - Parameters:
    ///   - source: The file; no symbolic link.
    ///   - path: The other name, on the same file system; folders that are missing are made.
    /// - Throws: `SystemError` with `file`; the error number is EEXIST where something has the other name, EWOULDBLOCK while
    ///   somebody else has the file open like this, ENOENT where there is none.
    package convenience init(linking source: String, as path: String) throws(SystemError) {
        try StagedFile.makeFolder(of: path)
        let held = try StagedFile.hold(source) {
            powersync_staged_open(source, false, 0)
        } taking: { (descriptor) throws(SystemError) -> Int64? in
            try StagedFile.lock(descriptor, source)?.size
        }
        do throws(SystemError) {
            try SystemError.check(
                StagedFile.link(source, path), .file, "cannot give \(source) the name \(path)")
            guard powersync_leads_to(path, held.descriptor) else {
                // Somebody has replaced the file between the two steps.
                try StagedFile.remove(path)
                throw SystemError(.file, "somebody replaces \(source)", errno: EWOULDBLOCK)
            }
        } catch {
            powersync_lock_close(held.descriptor)
            throw error
        }
        self.init(path, Calls(), held)
    }

    private init(_ path: String, _ calls: Calls, _ held: (descriptor: Int32, size: Int64)) {
        self.path = path
        self.calls = calls
        state = Lock(State(descriptor: held.descriptor, size: held.size))
    }

    deinit { close() }

    /// How many bytes are in it.
    package var size: Int64 { state.withLock { $0.size } }

    /// Whether the name under which it is written still leads to it.
    package var isThere: Bool {
        state.withLock { state in state.descriptor.map { powersync_leads_to(path, $0) } ?? false }
    }

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
            if !left.isEmpty { state.isSynced = false }
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
        try state.withLock { state throws(SystemError) -> [UInt8] in
            let most = Int(min(Int64(count), max(0, state.size - offset)))
            return try FileBytes.read(try open(state), called: path, at: offset, count: most)
        }
    }

    /// Leaves the first bytes in it.
    ///
    /// - Parameter size: How many.
    /// - Throws: `SystemError` with `file`.
    package func truncate(to size: Int64) throws(SystemError) {
        try state.withLock { state throws(SystemError) in
            state.isSynced = false
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
            try syncBytes(&state)
            try Self.syncFolder(of: path, calls)
        }
    }

    /// Returns when what was written is on the disk, so that ``commit(to:replacing:)`` need not wait for it.
    ///
    /// - Throws: `SystemError` with `file`.
    package func syncBytes() throws(SystemError) {
        try state.withLock { state throws(SystemError) in try syncBytes(&state) }
    }

    /// Gives the file its own name, once its bytes are on the disk, and closes it; returns when the name is, too.
    ///
    /// If somebody else has given this very file that name meanwhile, this is done. Where it fails the file stays open; where
    /// only the last step failed it has its own name.
    ///
    /// - Parameters:
    ///   - path: The name, on the same file system; its folder is there. A symbolic link is not followed.
    ///   - replacing: Whether it takes the place of what has the name.
    ///   - syncsNames: Whether it returns only when the name is on the disk; otherwise ``syncEachName(of:)`` is to be called
    ///     before the file is promised.
    /// - Throws: `SystemError` with `file`; EEXIST where something has the name that may not be replaced.
    package func commit(to path: String, replacing: Bool, syncsNames: Bool = true) throws(SystemError) {
        try state.withLock { state throws(SystemError) in
            let descriptor = try open(state)
            try syncBytes(&state)
            try Self.name(descriptor, self.path, as: path, replacing: replacing, calls)
            if syncsNames { try Self.syncNames(of: [path, self.path], calls) }
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

    /// Brings what was written to the disk, unless it is there.
    private func syncBytes(_ state: inout State) throws(SystemError) {
        let descriptor = try open(state)
        if state.isSynced { return }
        try SystemError.check(calls.sync(descriptor), .file, "cannot bring \(path) to the disk")
        state.isSynced = true
    }

    private func open(_ state: State) throws(SystemError) -> Int32 {
        guard let descriptor = state.descriptor else {
            throw SystemError(.file, "\(path) is closed", errno: EBADF)
        }
        return descriptor
    }
}
