import CPowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The names of files that are written under another one.
extension StagedFile {
    /// Gives a file its own name that somebody else has written and closed, with the same steps as ``commit(to:replacing:)``.
    ///
    /// - Parameters:
    ///   - temporary: The name under which it was written.
    ///   - path: Its own name.
    ///   - replacing: Whether it takes the place of what has the name.
    /// - Throws: `SystemError` with `file`; ENOENT where there is no such file.
    package static func publish(
        _ temporary: String, as path: String, replacing: Bool
    ) throws(SystemError) {
        let descriptor = try SystemError.check(
            powersync_staged_open(temporary, false, 0), .file, "cannot open \(temporary)")
        defer { powersync_lock_close(descriptor) }
        let calls = Calls()
        try SystemError.check(calls.sync(descriptor), .file, "cannot bring \(temporary) to the disk")
        try name(descriptor, temporary, as: path, replacing: replacing, calls)
        try syncNames(of: [path, temporary], calls)
    }

    /// Has names brought to the disk, of each folder at once.
    ///
    /// - Parameter paths: The names that files were given, and those that they had.
    /// - Returns: For each of them what keeps it from the disk, `SystemError` with `file`; nil where it is there.
    package static func syncEachName(of paths: [String]) -> [SystemError?] {
        syncEachName(of: paths, Calls())
    }

    /// Removes a file that was written under this name unless somebody has it open.
    ///
    /// - Parameters:
    ///   - path: The name; a symbolic link goes itself, not what it leads to.
    ///   - isKept: Asked whether it stays all the same, while nobody else can have it open: whoever had it open has ended,
    ///     and what that has done is to be seen.
    /// - Returns: Whether nothing has the name now.
    /// - Throws: `SystemError` with `file`.
    package static func removeUnheld(
        _ path: String, unless isKept: () -> Bool = { false }
    ) throws(SystemError) -> Bool {
        // Each turn but the first needs somebody who replaces the file at that moment.
        for _ in 0..<8 {
            let descriptor = powersync_staged_open(path, false, 0)
            if descriptor == -ENOENT { return true }
            if descriptor == -ELOOP {
                if isKept() { return false }
                try remove(path)
                return true
            }
            try SystemError.check(descriptor, .file, "cannot open \(path)")
            defer { powersync_lock_close(descriptor) }
            let status = try tryLock(descriptor, path)
            if status == Int32(POWERSYNC_LOCK_REFUSED) { return false }
            if status == Int32(POWERSYNC_LOCK_TAKEN) {
                if isKept() { return false }
                try remove(path)
                return true
            }
        }
        return false
    }

    // MARK: Steps

    /// Gives a file its own name whose bytes are on the disk.
    static func name(
        _ descriptor: Int32, _ temporary: String, as path: String, replacing: Bool, _ calls: Calls
    ) throws(SystemError) {
        // Somebody else may have been quicker, or may have removed it.
        if powersync_leads_to(temporary, descriptor) {
            let status = replacing ? calls.replace(temporary, path) : calls.add(temporary, path)
            // It may have both names, if somebody ended between the two.
            if !powersync_leads_to(path, descriptor) {
                try SystemError.check(status, .file, "cannot give \(temporary) the name \(path)")
            }
            // rename(2) does nothing where both are names of one file.
            if powersync_leads_to(temporary, descriptor) {
                try SystemError.check(calls.remove(temporary), .file, "cannot remove \(temporary)")
            }
        } else if !powersync_leads_to(path, descriptor) {
            throw SystemError(.file, "\(temporary) is gone", errno: ENOENT)
        }
    }

    /// Returns when names are on the disk; throws what keeps the first of them from it.
    static func syncNames(of paths: [String], _ calls: Calls) throws(SystemError) {
        for error in syncEachName(of: paths, calls) {
            if let error { throw error }
        }
    }

    /// Has the names in the folders of paths brought to the disk, each folder once, in the order of the paths.
    static func syncEachName(of paths: [String], _ calls: Calls) -> [SystemError?] {
        // By their bytes: Unicode takes other names for one.
        var done: Set<[UInt8]> = []
        var failures: [[UInt8]: SystemError] = [:]
        return paths.map { path -> SystemError? in
            let name = Array(folder(of: path).utf8)
            if done.insert(name).inserted {
                do throws(SystemError) {
                    try syncFolder(of: path, calls)
                } catch {
                    failures[name] = error
                }
            }
            return failures[name]
        }
    }

    /// Returns when the names in the folder of a path are on the disk.
    static func syncFolder(of path: String, _ calls: Calls) throws(SystemError) {
        let folder = folder(of: path)
        try SystemError.check(
            calls.syncFolder(folder), .file, "cannot bring the names in \(folder) to the disk")
    }

    /// Gives a file one more name, unless something has that; a negative result is an error number.
    static func link(_ old: String, _ new: String) -> Int32 {
        linkat(AT_FDCWD, old, AT_FDCWD, new, 0) == 0 ? 0 : -errno
    }

    /// Makes the folder of a path, and those above it that are missing.
    static func makeFolder(of path: String) throws(SystemError) {
        let folder = folder(of: path)
        try SystemError.check(powersync_folders_make(folder), .file, "cannot make \(folder)")
    }

    /// Takes a name away; one that is not there is gone.
    static func remove(_ path: String) throws(SystemError) {
        guard unlink(path) != 0, errno != ENOENT else { return }
        throw SystemError(.file, "cannot remove \(path)", errno: errno)
    }

    /// The folder that a path lies in.
    static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
