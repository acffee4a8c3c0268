import PowerSyncSQLite
import PowerSyncWire

/// Validating and applying checkpoints (client-core 6.7).
extension SyncStore {
    /// client-core 6.5, 6.10, 7.3: what a new checkpoint changes before any of its data.
    func track(_ checkpoint: TrackedCheckpoint, dropping names: [String]) throws -> TrackOutcome {
        try deleteBuckets(names)
        var counters = try counters(of: checkpoint)
        let hasShrunk = checkpoint.buckets.values.contains { bucket in
            guard let counter = counters[ExactText(bucket.bucket)] else { return false }
            return (bucket.count ?? 0) < counter.atLast.addingSaturated(counter.sinceLast)
        }
        if hasShrunk {
            // A bucket that was compacted makes the counters worthless: all begin again.
            try connection.run(
                """
                UPDATE ps_buckets SET count_at_last = 0, count_since_last = 0
                WHERE count_at_last <> 0 OR count_since_last <> 0
                """)
            counters = [:]
        }
        let (rows, defaultRows) = try reconcileSubscriptions(with: checkpoint.streams)
        return TrackOutcome(
            counters: counters, subscriptions: rows, defaultRows: defaultRows)
    }

    private func counters(of checkpoint: TrackedCheckpoint) throws -> [ExactText: BucketCounters] {
        var counters: [ExactText: BucketCounters] = [:]
        try connection.forEach("SELECT name, count_at_last, count_since_last FROM ps_buckets") { row in
            let name = ExactText(row.string(0))
            guard checkpoint.buckets[name] != nil else { return }
            counters[name] = BucketCounters(atLast: row.int64(1), sinceLast: row.int64(2))
        }
        return counters
    }

    /// Validates a checkpoint and applies its rows if no local change stands in the way.
    ///
    /// - Throws: `SQLiteError`, and `SyncError` for a row that a raw table refuses.
    package func apply(_ request: ApplyRequest) throws -> ApplyOutcome {
        let scope = request.checkpoint.scope(request.priority)
        let stored = try storedBuckets()
        let failures = mismatches(in: scope, stored)
        guard failures.isEmpty else {
            try deleteBuckets(failures.map(\.bucket))
            return .mismatch(failures)
        }
        let names = JSON.array(scope.map { .string($0.bucket) }).text
        // The position never falls, or operations that are stored would be asked for again.
        try connection.run(
            """
            UPDATE ps_buckets SET last_op = ?1
            WHERE last_op < ?1 AND name IN (SELECT value FROM json_each(?2))
            """, [.integer(request.checkpoint.lastOpID), .text(names)])
        let isComplete = request.priority == nil
        if isComplete, let id = request.checkpoint.writeCheckpoint { try setKey(.lastSeen, to: id) }
        if request.priority != 0, try isBlocked() { return .blocked }

        try applyRows(inBuckets: isComplete ? nil : names)
        if isComplete {
            try connection.run(
                "UPDATE ps_buckets SET last_applied_op = last_op WHERE last_applied_op <> last_op")
            try connection.run("DELETE FROM ps_updated_rows")
            for bucket in scope {
                // Of thousands of buckets few have changed, and each row that is written costs.
                guard let count = bucket.count, let counters = stored[ExactText(bucket.bucket)]?.counters,
                    counters != BucketCounters(atLast: count, sinceLast: 0)
                else { continue }
                try connection.run(
                    "UPDATE ps_buckets SET count_at_last = ?1, count_since_last = 0 WHERE name = ?2",
                    [.integer(count), .text(bucket.bucket)])
            }
            if let id = request.checkpoint.writeCheckpoint { try setKey(.lastApplied, to: id) }
        } else {
            try connection.run(
                """
                UPDATE ps_buckets SET last_applied_op = last_op
                WHERE last_applied_op <> last_op AND name IN (SELECT value FROM json_each(?1))
                """, [.text(names)])
        }
        try stamp(priority: request.priority ?? PrioritySyncState.fullSync, streams: request.streamIDs)
        return .applied(at: now)
    }

    /// What is stored of a bucket.
    private struct StoredBucket {
        var present = Checksum.zero
        var superseded = Checksum.zero
        var counters = BucketCounters(atLast: 0, sinceLast: 0)
    }

    private func storedBuckets() throws -> [ExactText: StoredBucket] {
        var stored: [ExactText: StoredBucket] = [:]
        try connection.forEach(
            "SELECT name, op_checksum, add_checksum, count_at_last, count_since_last FROM ps_buckets"
        ) { row in
            stored[ExactText(row.string(0))] = StoredBucket(
                present: Checksum(truncating: row.int64(1)), superseded: Checksum(truncating: row.int64(2)),
                counters: BucketCounters(atLast: row.int64(3), sinceLast: row.int64(4)))
        }
        return stored
    }

    private func mismatches(
        in scope: [BucketChecksum], _ stored: [ExactText: StoredBucket]
    ) -> [ChecksumMismatch] {
        scope.compactMap { bucket in
            // A bucket without a row is one without operations.
            let sums = stored[ExactText(bucket.bucket)] ?? StoredBucket()
            guard sums.present + sums.superseded != bucket.checksum else { return nil }
            return ChecksumMismatch(
                bucket: bucket.bucket, expected: bucket.checksum, present: sums.present,
                superseded: sums.superseded)
        }.sorted { $0.bucket < $1.bucket }
    }

    /// client-core 6.7 step 4: local changes that the service has not shown back yet.
    private func isBlocked() throws -> Bool {
        if let target = try target(), target > (try key(.lastSeen) ?? 0) { return true }
        return try hasPendingUploads()
    }

    private func stamp(priority: Int, streams: [Int64]) throws {
        let code = SQLiteValue.integer(Int64(priority))
        try connection.run("DELETE FROM ps_sync_state WHERE priority < ?1", [code])
        try connection.run(
            """
            INSERT INTO ps_sync_state(priority, last_synced_at) VALUES (?1, ?2)
            ON CONFLICT(priority) DO UPDATE SET last_synced_at = excluded.last_synced_at
            """, [code, .integer(now)])
        for id in streams {
            try connection.run(
                "UPDATE ps_stream_subscriptions SET last_synced_at = ?1 WHERE id = ?2",
                [.integer(now), .integer(id)])
        }
    }
}
