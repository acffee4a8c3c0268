import PowerSyncWire

/// Compares a checkpoint with what a client was told last (service 3.2, step 4).
package enum CheckpointDiffer {
    /// What is new for the client.
    package struct Difference: Sendable, Equatable {
        /// Buckets that are new or have other operations.
        package var updated: [CheckpointView.Bucket]
        /// Names of buckets that are gone.
        package var removed: [String]
    }

    /// The difference; nil if there is nothing to tell.
    ///
    /// - Parameters:
    ///   - listed: The buckets as they were told, by name.
    ///   - writeCheckpoint: The write checkpoint that was told.
    ///   - view: The checkpoint.
    /// - Returns: What to tell; a mere change of priority or reasons is nothing (service 3.14 D3).
    package static func diff(
        from listed: [ExactText: CheckpointView.Bucket], writeCheckpoint: Int64?, to view: CheckpointView
    ) -> Difference? {
        let updated = view.buckets.filter { bucket in
            guard let old = listed[ExactText(bucket.bucket.name)]?.state else { return true }
            return isNew(bucket.state, after: old)
        }
        let names = Set(view.buckets.map { ExactText($0.bucket.name) })
        let removed = listed.keys.filter { !names.contains($0) }.map(\.text).sorted()
        guard !updated.isEmpty || !removed.isEmpty || view.writeCheckpoint != writeCheckpoint else {
            return nil
        }
        return Difference(updated: updated, removed: removed)
    }

    /// The difference that a change makes, of which only what is changed is looked at; nil if there is nothing to tell.
    ///
    /// - Parameters:
    ///   - listed: The buckets as they were told, by name.
    ///   - writeCheckpoint: The write checkpoint that was told.
    ///   - change: What has changed since the checkpoint that was told.
    /// - Returns: What to tell, in no order.
    package static func diff(
        from listed: [ExactText: CheckpointView.Bucket], writeCheckpoint: Int64?, by change: ViewChange
    ) -> Difference? {
        let updated = change.buckets.compactMap { name, state -> CheckpointView.Bucket? in
            guard let known = listed[name], isNew(state, after: known.state) else { return nil }
            return CheckpointView.Bucket(bucket: known.bucket, state: state)
        }
        guard !updated.isEmpty || change.writeCheckpoint != writeCheckpoint else { return nil }
        return Difference(updated: updated, removed: [])
    }

    private static func isNew(_ state: BucketTotals, after old: BucketTotals) -> Bool {
        old.checksum != state.checksum || old.count != state.count
    }
}
