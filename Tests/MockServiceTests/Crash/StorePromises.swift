import PowerSyncPostgresValues
import PowerSyncWire

@testable import PowerSyncServiceEngine

/// What a service has told others, and its file must therefore hold however it ends.
struct StorePromises: Sendable {
    /// Up to where the source was told that everything is stored, for each stream.
    var acknowledged: [StreamNumber: LSN] = [:]
    /// The checkpoints that clients were shown, for each stream in the order in which they were.
    var published: [StreamNumber: [StoredCheckpoint]] = [:]
    /// The last write checkpoint that was given for each key.
    var writeCheckpoints: [ExactText: Int64] = [:]

    /// Nothing was told.
    init() {}
}
