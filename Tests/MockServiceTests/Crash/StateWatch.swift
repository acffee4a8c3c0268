import PowerSyncSQLite

/// Looks at a state from beside, and finds out what its service has just done.
struct StateWatch {
    /// What there is at one moment.
    private struct Sight {
        let active: Int64
        let position: Int64
        let key: String
        let read: Int64
        let ahead: Int64
        let segments: Int64
        let stopped: Int64
        let pages: Int64

        init(_ row: SQLiteRow) {
            active = row.int64(0)
            position = row.int64(1)
            key = row.string(2)
            read = row.int64(3)
            ahead = row.int64(4)
            segments = row.int64(5)
            stopped = row.int64(6)
            pages = row.int64(7)
        }
    }

    private static let query = """
        SELECT coalesce((SELECT id FROM replication_stream WHERE state = 'active'), 0),
            coalesce((SELECT checkpoint_lsn FROM replication_stream WHERE state = 'active'), 0),
            coalesce((SELECT max(snapshot_key) FROM source_table WHERE snapshot_done = 0), ''),
            (SELECT count(*) FROM replication_stream WHERE snapshot_done = 1),
            (SELECT count(*) FROM replication_stream
                WHERE is_ahead = 1 AND snapshot_done = 1 AND state <> 'stopped'),
            (SELECT count(*) FROM segment WHERE bucket IN (SELECT b.id FROM bucket b
                JOIN replication_stream r ON r.id = b.stream WHERE r.state = 'active')),
            (SELECT count(*) FROM segment WHERE bucket IN (SELECT b.id FROM bucket b
                JOIN replication_stream r ON r.id = b.stream WHERE r.state = 'stopped')),
            (SELECT page_count FROM pragma_page_count)
        """

    private let path: String
    private var connection: SQLiteConnection?
    private var last: Sight?

    /// Begins to look at a file, which may not be there yet.
    init(_ path: String) { self.path = path }

    /// Looks once.
    ///
    /// - Returns: What was done since the last look.
    /// - Throws: `SQLiteError` as long as there is no state that can be read.
    mutating func look() throws -> [StoreMoments.Moment] {
        let open = try connection ?? SQLiteConnection(path: path, flags: .readOnly)
        connection = open
        do {
            let found = try open.one(Self.query) { Sight($0) }
            guard let now = found else { return [] }
            defer { last = now }
            return last.map { Self.moments(from: $0, to: now) } ?? []
        } catch {
            open.close()
            connection = nil
            throw error
        }
    }

    private static func moments(from before: Sight, to now: Sight) -> [StoreMoments.Moment] {
        let isSame = before.active == now.active
        let all: [(StoreMoments.Moment, Bool)] = [
            (.piece, now.key != before.key && !now.key.isEmpty), (.read, now.read > before.read),
            (.commit, isSame && now.position != before.position), (.again, now.ahead > before.ahead),
            (.switched, !isSame), (.removed, now.stopped < before.stopped),
            (.merged, isSame && now.segments < before.segments), (.vacuumed, now.pages < before.pages),
        ]
        return all.filter { $0.1 }.map { $0.0 }
    }
}
