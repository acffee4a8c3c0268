import PowerSyncWire

/// What a newer checkpoint has changed of what one stream sees.
package struct ViewChange: Sendable, Equatable {
    /// The last operation of the checkpoint.
    package var operation: Int64
    /// The newest write checkpoint of the client that was reached; nil if none was since the checkpoint before.
    package var writeCheckpoint: Int64?
    /// The states at the checkpoint of those buckets that may have changed, by whole name.
    package var buckets: [ExactText: BucketTotals]

    /// Makes a change of its parts.
    package init(operation: Int64, writeCheckpoint: Int64?, buckets: [ExactText: BucketTotals]) {
        self.operation = operation
        self.writeCheckpoint = writeCheckpoint
        self.buckets = buckets
    }
}
