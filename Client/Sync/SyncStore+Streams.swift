import PowerSyncSQLite
import PowerSyncWire

/// Stream subscriptions (client-core 7).
extension SyncStore {
    /// How long a subscription lasts without being in use unless said otherwise: a day.
    package static let defaultTimeToLive: Int64 = 86400
    /// The longest time to live in seconds, some 30,000 years: what is longer ends then.
    package static let longestTimeToLive: Int64 = 1_000_000_000_000

    /// Stores a subscription, or renews it.
    ///
    /// - Parameters:
    ///   - stream: what to subscribe to.
    ///   - timeToLive: seconds that it lasts once nobody holds it.
    ///   - priority: a priority other than the stream's own; the more urgent of two wins. A row that was made without one
    ///     never gets one (Q9).
    /// - Throws: `SQLiteError`.
    package func subscribe(_ stream: StreamKey, timeToLive: Int64? = nil, priority: Int? = nil) throws {
        let longest = Self.longestTimeToLive
        let seconds = max(-longest, min(timeToLive ?? Self.defaultTimeToLive, longest))
        try connection.run(
            """
            INSERT INTO ps_stream_subscriptions(stream_name, local_priority, local_params, ttl, expires_at)
            VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT(stream_name, local_params) DO UPDATE SET
                local_priority = min(coalesce(excluded.local_priority, local_priority), local_priority),
                ttl = excluded.ttl, expires_at = excluded.expires_at
            """,
            [
                .text(stream.name), SQLiteValue(priority.map(Int64.init)), .text(stream.storedParameters),
                .integer(seconds), .integer(now + seconds * 1_000_000),
            ])
    }

    /// Ends a subscription; its data goes with the next checkpoint that no longer lists it.
    package func unsubscribe(_ stream: StreamKey) throws {
        try connection.run(
            "UPDATE ps_stream_subscriptions SET ttl = NULL WHERE stream_name = ?1 AND local_params = ?2",
            [.text(stream.name), .text(stream.storedParameters)])
    }

    /// Lets the subscriptions in use last from now on.
    func prolong(_ streams: [StreamKey]) throws {
        for stream in streams {
            try connection.run(
                """
                UPDATE ps_stream_subscriptions SET expires_at = ?1 + ttl * 1000000
                WHERE stream_name = ?2 AND local_params = ?3 AND ttl IS NOT NULL
                """, [.integer(now), .text(stream.name), .text(stream.storedParameters)])
        }
    }

    /// How long a subscription at least lasts that is held where another process syncs, until it is renewed: seconds.
    static let leaseTime: Int64 = 90
    /// How often it is looked whether one has to be renewed.
    static let leasePause = Duration.seconds(30)

    /// Lets subscriptions last that are held here while another process syncs, which does not know of the handles.
    ///
    /// Each renewal is a commit of which all processes hear, so long ones are renewed seldom: when a twenty-fourth of
    /// their time is over.
    func lease(_ streams: [StreamKey]) throws {
        for stream in streams {
            try connection.run(
                """
                UPDATE ps_stream_subscriptions SET expires_at = ?1 + max(ttl, ?2) * 1000000
                WHERE stream_name = ?3 AND local_params = ?4
                    AND expires_at < ?1 + max(ttl - ttl / 24, ?2 - 15) * 1000000
                """,
                [
                    .integer(now), .integer(Self.leaseTime), .text(stream.name),
                    .text(stream.storedParameters),
                ])
        }
    }

    /// Drops subscriptions that ended and returns the others in the order of their rows (client-core 7.2).
    ///
    /// A row that was unsubscribed keeps its time of expiry, which then means nothing: it stays as long as the
    /// service lists the stream.
    ///
    /// - Returns: what to ask for; and the streams of rows whose parameters cannot be read, which other SDKs may have stored:
    ///   without these the others go on.
    /// - Throws: `SQLiteError`.
    func requestedSubscriptions(
        keeping active: [StreamKey]
    ) throws -> (subscriptions: [RequestedSubscription], unreadable: [String]) {
        try connection.run(
            """
            DELETE FROM ps_stream_subscriptions
            WHERE CASE WHEN ttl IS NULL THEN active = 0 ELSE expires_at < ?1 END
            """, [.integer(now)])
        var subscriptions: [RequestedSubscription] = []
        var unreadable: [String] = []
        try connection.forEach(
            """
            SELECT id, stream_name, local_params, local_priority FROM ps_stream_subscriptions
            WHERE ttl IS NOT NULL ORDER BY id
            """
        ) { row in
            let parameters = row.string(2)
            let json: JSON?
            do {
                json = parameters == "null" ? nil : try JSON.parse(parameters, limits: StreamKey.limits)
            } catch {
                return unreadable.append(row.string(1))
            }
            subscriptions.append(
                RequestedSubscription(
                    id: row.int64(0), name: row.string(1), parameters: parameters, json: json,
                    priority: row.integer(3).map { Int($0) }))
        }
        return (subscriptions, unreadable)
    }

    /// Returns what is subscribed to and with which priority, without the times, which each renewal changes.
    func subscriptionList() throws -> [[SQLiteValue]] {
        try connection.query(
            """
            SELECT stream_name, local_params, local_priority FROM ps_stream_subscriptions
            WHERE ttl IS NOT NULL ORDER BY id
            """
        ) { row in (0..<row.count).map { row[$0] } }
    }

    func subscriptionRows() throws -> [StreamSyncState] {
        try connection.query(
            """
            SELECT id, stream_name, active, is_default, local_params, ttl, expires_at, last_synced_at
            FROM ps_stream_subscriptions ORDER BY id
            """
        ) { row in
            let parameters = row.string(4)
            return StreamSyncState(
                id: row.int64(0), name: row.string(1), parameters: parameters == "null" ? nil : parameters,
                isActive: row.int64(2) != 0, isDefault: row.int64(3) != 0,
                hasExplicitSubscription: !row.isNull(5), expiresAt: row.integer(6),
                lastSyncedAt: row.integer(7))
        }
    }

    /// Compares the local subscriptions with the list of a checkpoint (client-core 7.3).
    ///
    /// - Returns: all subscriptions that are left, and for each index of the list the row of its default
    ///   subscription.
    func reconcileSubscriptions(
        with streams: [StreamDescription]
    ) throws -> (rows: [StreamSyncState], defaultRows: [Int: Int64]) {
        let plan = SubscriptionPlan(rows: try subscriptionRows(), streams: streams)
        var rows = plan.rows
        var defaultRows = plan.defaultRows
        for id in plan.deleted {
            try connection.run("DELETE FROM ps_stream_subscriptions WHERE id = ?1", [.integer(id)])
        }
        for id in plan.changed {
            guard let row = rows.first(where: { $0.id == id }) else { continue }
            try connection.run(
                "UPDATE ps_stream_subscriptions SET active = ?1, is_default = ?2 WHERE id = ?3",
                [.integer(row.isActive ? 1 : 0), .integer(row.isDefault ? 1 : 0), .integer(id)])
        }
        for index in plan.added {
            let name = streams[index].name
            try connection.run(
                "INSERT INTO ps_stream_subscriptions(stream_name, active, is_default) VALUES (?1, 1, 1)",
                [.text(name)])
            let id = connection.lastInsertRowID
            rows.append(StreamSyncState(id: id, name: name, isActive: true, isDefault: true))
            defaultRows[index] = id
        }
        return (rows, defaultRows)
    }
}

/// What a checkpoint's list of streams means for the local subscriptions.
struct SubscriptionPlan {
    /// The rows that stay, as they are from now on.
    var rows: [StreamSyncState] = []
    /// Rows to delete.
    var deleted: [Int64] = []
    /// Rows of `rows` that differ from before.
    var changed: [Int64] = []
    /// Indexes of default streams that need a row.
    var added: [Int] = []
    /// For each index of the list the row that is subscribed by default only.
    var defaultRows: [Int: Int64] = [:]

    init(rows before: [StreamSyncState], streams: [StreamDescription]) {
        var indexes: [ExactText: Int] = [:]
        for (index, stream) in streams.enumerated() { indexes[ExactText(stream.name)] = index }
        var names: Set<ExactText> = []
        for row in before {
            var state = row
            let index = indexes[ExactText(state.name)]
            state.isActive = index != nil
            state.isDefault = index.map { streams[$0].isDefault } ?? false
            guard state.hasExplicitSubscription || state.isActive else {
                deleted.append(state.id)
                continue
            }
            names.insert(ExactText(state.name))
            if state != row { changed.append(state.id) }
            if let index, !state.hasExplicitSubscription { defaultRows[index] = state.id }
            rows.append(state)
        }
        for (index, stream) in streams.enumerated() where stream.isDefault {
            let name = ExactText(stream.name)
            if !names.contains(name), indexes[name] == index { added.append(index) }
        }
    }
}
