import PowerSyncPostgres

/// Transactions that the stream has told of and that other sessions may not see yet, and what it said meanwhile.
///
/// Postgres sends a transaction once its commit is in the log, which is a moment before anybody sees it: what is read in
/// between, a table's columns or a row, is as it was before.
struct UnseenTransactions {
    private let limit: Int
    private var ids: [UInt32] = []
    private var ahead: [PostgresFrames] = []
    private var aheadBytes = 0

    /// Begins with none.
    ///
    /// - Parameter limit: From how many bytes on that are kept nothing more is read (`StoreLimits.aheadBytes`).
    init(limit: Int) { self.limit = limit }

    /// Whether there is none.
    var isEmpty: Bool { ids.isEmpty }

    /// Notes transactions that have begun.
    mutating func note(_ begun: [UInt32]) { ids += begun }

    /// Forgets transactions of which nothing is read.
    mutating func clear() { ids.removeAll(keepingCapacity: true) }

    /// Whether there is room for what the stream says while it is waited.
    var hasRoom: Bool { aheadBytes < limit }

    /// Keeps what the stream said while it was waited.
    mutating func keep(_ frames: PostgresFrames) {
        aheadBytes += Self.size(of: frames)
        ahead.append(frames)
    }

    /// Counts bytes with what a message takes beside its text.
    private static func size(of frames: PostgresFrames) -> Int { frames.bytes.count + 128 * frames.count }

    /// Takes the first of what was kept; nil if that is all.
    mutating func takeKept() -> PostgresFrames? {
        guard !ahead.isEmpty else { return nil }
        let first = ahead.removeFirst()
        aheadBytes -= Self.size(of: first)
        return first
    }

    /// Whether a connection sees all of them.
    func areSeen(_ connection: PostgresConnection) async throws -> Bool {
        // The stream tells 32 bits of an id: it is the one that is nearest to those of now.
        let sql = """
            SELECT bool_and(txid_visible_in_snapshot(near - ((near - id) & 4294967295), now))
            FROM txid_current_snapshot() now, LATERAL (SELECT txid_snapshot_xmax(now) + 2147483648) n(near),
                unnest($1::bigint[]) id
            """
        let list = "{" + ids.map { String($0) }.joined(separator: ",") + "}"
        return try await connection.query(sql, [list]).scalar == "t"
    }

    /// Why transactions stay unseen, and what helps.
    func reason(_ connection: PostgresConnection) async throws -> String {
        let list = ids.map { String($0) }.joined(separator: ", ")
        let what = "transaction \(list) is in the log and not to be seen"
        // A role of no rights sees the setting, but not for what others wait.
        let standbys = try await connection.query("SELECT current_setting('synchronous_standby_names')")
            .scalar
        guard let standbys, !standbys.isEmpty else { return what }
        return
            "\(what): commits wait for a synchronous standby (wait event SyncRep), and synchronous_standby_names is "
            + "'\(standbys)'. Bring the standby back, or run on the source: "
            + "ALTER SYSTEM SET synchronous_standby_names = ''; SELECT pg_reload_conf();"
    }
}
