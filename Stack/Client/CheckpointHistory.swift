import PowerSync

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What follows from the states of syncing, one after the other, that none of them says by itself.
///
/// A checkpoint is applied in one transaction, which sets the time at which all data was last complete. So every state with
/// another time than the one before tells of one more applied checkpoint, and that is its time. Data of a priority alone
/// (`partial_checkpoint_complete`) and a checkpoint that waits for local writes leave the time as it is.
package struct CheckpointHistory: Sendable {
    private var isFirst = true
    private var isConnected = false
    private var isDownloading = false
    private var lacksStream = false
    private var hasApplied = false
    private var lastSyncedAt: Date?

    /// Begins before the first state.
    package init() {}

    /// Whether a stream is open, a checkpoint has been applied since then, none is arriving, and all that is subscribed to
    /// has come once.
    ///
    /// A stream that has just been opened says nothing yet of what has happened while there was none: not before its first
    /// checkpoint is known that nothing is missing. One that takes the place of another at once follows on that one.
    package var isCurrent: Bool { isConnected && !isDownloading && hasApplied && !lacksStream }

    /// Takes the next state.
    ///
    /// - Parameters:
    ///   - connected: whether a stream is open.
    ///   - downloading: whether a checkpoint is arriving.
    ///   - lacksStream: whether something is subscribed to that has never been complete.
    ///   - time: when all data was last complete; nil if it never was.
    /// - Returns: the time of a checkpoint that was applied since the state before; nil if there is none, and for the first
    ///   state, which is what was there before.
    package mutating func take(
        connected: Bool, downloading: Bool, lacksStream: Bool = false, lastSyncedAt time: Date?
    ) -> Date? {
        let isNew = !isFirst && time != nil && time != lastSyncedAt
        if !connected || !isConnected { hasApplied = false }
        if isNew, connected { hasApplied = true }
        isFirst = false
        isConnected = connected
        isDownloading = downloading
        self.lacksStream = lacksStream
        lastSyncedAt = time
        return isNew ? time : nil
    }
}
