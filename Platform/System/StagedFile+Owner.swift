import CPowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The only owner of a file that is written under another name.
extension StagedFile {
    /// Opens a file for its only owner.
    ///
    /// - Parameters:
    ///   - path: Its name, for errors.
    ///   - open: Opens it; a negative result is an error number.
    ///   - take: Takes its lock; returns how many bytes are in it, nil if it has to be opened again.
    /// - Returns: The open file, and how many bytes are in it.
    /// - Throws: `SystemError` with `file`.
    static func hold(
        _ path: String, opening open: () -> Int32, taking take: (Int32) throws(SystemError) -> Int64?
    ) throws(SystemError) -> (descriptor: Int32, size: Int64) {
        // Each turn but the first needs somebody who replaces the file at that moment, or a file that has its own name.
        for _ in 0..<8 {
            let descriptor = try SystemError.check(open(), .file, "cannot open \(path)")
            do throws(SystemError) {
                if let size = try take(descriptor) { return (descriptor, size) }
            } catch {
                powersync_lock_close(descriptor)
                throw error
            }
            powersync_lock_close(descriptor)
        }
        throw SystemError(.file, "somebody replaces \(path) again and again", errno: EWOULDBLOCK)
    }

    /// Takes the lock of an open file, and empties it; returns how many bytes are in it, nil if it has to be opened again.
    static func take(
        _ descriptor: Int32, _ path: String, isEmptied: Bool
    ) throws(SystemError) -> Int64? {
        guard let known = try lock(descriptor, path) else { return nil }
        if known.links > 1 {
            // Writing would change the file that has its own name.
            try remove(path)
            return nil
        }
        guard isEmptied, known.size > 0 else { return known.size }
        guard ftruncate(descriptor, 0) == 0 else {
            throw SystemError(.file, "cannot empty \(path)", errno: errno)
        }
        return 0
    }

    /// Takes the lock of an open file; returns how many bytes are in it and how many names it has, nil if its name leads to
    /// another file by now.
    static func lock(
        _ descriptor: Int32, _ path: String
    ) throws(SystemError) -> (size: Int64, links: Int)? {
        let status = try tryLock(descriptor, path)
        if status == Int32(POWERSYNC_LOCK_REFUSED) {
            throw SystemError(.file, "somebody else writes \(path)", errno: EWOULDBLOCK)
        }
        guard status == Int32(POWERSYNC_LOCK_TAKEN) else { return nil }
        var known = stat()
        guard fstat(descriptor, &known) == 0 else {
            throw SystemError(.file, "cannot tell the size of \(path)", errno: errno)
        }
        return (Int64(known.st_size), Int(known.st_nlink))
    }

    /// Takes the lock of an open file, as `powersync_lock_try` does, and tells what became of that.
    ///
    /// On a file system that knows no locks everybody has it: files can be written there, and nobody is kept from
    /// removing them.
    ///
    /// - Parameters:
    ///   - descriptor: The file.
    ///   - path: Its name.
    ///   - call: Takes the lock; a negative result is an error number.
    /// - Returns: `POWERSYNC_LOCK_TAKEN`, `POWERSYNC_LOCK_REFUSED` or `POWERSYNC_LOCK_REPLACED`.
    /// - Throws: `SystemError` with `file`.
    static func tryLock(
        _ descriptor: Int32, _ path: String,
        _ call: (_ descriptor: Int32, _ path: String) -> Int32 = { powersync_lock_try($0, $1) }
    ) throws(SystemError) -> Int32 {
        let status = call(descriptor, path)
        switch -status {
        case ENOLCK, ENOTSUP, EOPNOTSUPP, ENOSYS, EINVAL:
            let isThere = powersync_leads_to(path, descriptor)
            return isThere ? Int32(POWERSYNC_LOCK_TAKEN) : Int32(POWERSYNC_LOCK_REPLACED)
        default: return try SystemError.check(status, .file, "cannot lock \(path)")
        }
    }
}
