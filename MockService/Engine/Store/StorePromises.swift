import PowerSyncPostgres
import PowerSyncWire

/// What a service has told others, and its file must therefore hold however it ends.
package struct StorePromises: Sendable {
    /// Up to where the source was told that everything is stored, for each stream.
    package var acknowledged: [StreamNumber: LSN] = [:]
    /// The checkpoints that clients were shown, for each stream in the order in which they were.
    package var published: [StreamNumber: [StoredCheckpoint]] = [:]
    /// The last write checkpoint that was given for each key.
    package var writeCheckpoints: [ExactText: Int64] = [:]

    /// Nothing was told.
    package init() {}
}
