import PowerSyncSQLite

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Notices what other processes write into a database file (client-api 2.10).
///
/// The write-ahead log is looked at ten times a second while somebody wants to know; only when it has
/// changed, the
/// writer is asked whether a commit of another connection is behind it. Commits of this process go through
/// the
/// writer itself, so they do not count.
struct ExternalChanges: Sendable {
    /// How often the log is looked at.
    static let interval = Duration.milliseconds(100)

    private let log: String
    private var seen: FileSignature?
    private var version: Int64

    /// Takes note of the state right after opening.
    init(path: String, pool: SQLitePool) async throws {
        log = path + "-wal"
        seen = FileSignature(log)
        version = try await Self.version(pool)
    }

    /// Looks once.
    ///
    /// - Parameter pool: the connections.
    /// - Returns: whether another process has committed since the last look.
    /// - Throws: `SQLiteError` once the connections are closed.
    mutating func look(_ pool: SQLitePool) async throws -> Bool {
        // Read before the version: a commit in between is found next time.
        let now = FileSignature(log)
        guard now != seen else { return false }
        let version = try await Self.version(pool)
        seen = now
        defer { self.version = version }
        return version != self.version
    }

    private static func version(_ pool: SQLitePool) async throws -> Int64 {
        try await pool.write { try $0.one("PRAGMA data_version") { $0.int64(0) } ?? 0 }
    }
}

/// What tells one state of a file from another without reading it.
private struct FileSignature: Equatable {
    private let size: Int64
    private let seconds: Int
    private let nanoseconds: Int
    private let inode: UInt64

    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        size = Int64(status.st_size)
        inode = UInt64(status.st_ino)
        #if canImport(Darwin)
            let time = status.st_mtimespec
        #else
            let time = status.st_mtim
        #endif
        seconds = time.tv_sec
        nanoseconds = time.tv_nsec
    }
}
