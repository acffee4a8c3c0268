import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The files of one database, which other processes may use, too.
final class DatabaseFiles: Sendable {
    /// The database.
    let path: String
    private let folder: String
    private let name: String
    private let watcher: FileWatcher
    private let wasRefused = Lock(false)

    init(path: String, watcher: FileWatcher) {
        self.path = path
        // By bytes: to `Character` a slash and a combining mark behind it are one.
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) }
        name = String(path[(slash ?? path.startIndex)...])
        folder = String(path[..<(slash ?? path.startIndex)])
        self.watcher = watcher
    }

    /// Begins to take note of changes.
    ///
    /// - Parameters:
    ///   - endings: what the names of the files have behind that of the database.
    ///   - environment: how to wait.
    ///   - log: receives one warning, however often the system refuses.
    /// - Returns: what tells of the changes, as long as it is kept.
    func changes(of endings: [String], environment: SyncEnvironment, log: SyncLog) -> FileChanges {
        FileChanges(of: Set(endings.map { name + $0 }), in: folder, watcher, environment: environment) {
            error in
            let isFirst = wasRefused.withLock { wasRefused in
                defer { wasRefused = true }
                return !wasRefused
            }
            // A system that has no such thing refuses nobody.
            guard isFirst, error.errno != ENOTSUP else { return }
            log(.warning, "Changes of other processes are looked for once a second: \(error)")
        }
    }
}
