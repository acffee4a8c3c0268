import PowerSyncWire

/// How a connection syncs.
package struct SyncOptions: Sendable {
    /// What the stream is asked for, without the streams that the app holds.
    package var start = SyncStart()
    /// The wait after a failure.
    package var retryDelay = Duration.seconds(5)
    /// The least time between the starts of two upload rounds.
    package var uploadThrottle = Duration.seconds(1)
    /// How long a checkpoint request may take to show in a checkpoint before it is sent again.
    package var checkpointRequestPatience = Duration.seconds(10)
    /// Whether changes are uploaded although no stream is open (client-api 3.2).
    package var uploadsWhileDisconnected = false
    /// The largest line of a stream in bytes; a row of 16 MiB doubles when it is escaped.
    package var lineLimit = 48 << 20
    /// Whether the service is asked for lines in BSON; what it answers is taken either way.
    package var prefersBinaryLines = true
    /// Whether answers of the service may come compressed.
    package var acceptsCompression = true
    /// How much of what comes is stored at once.
    package var tuning = StorageTuning.standard
    /// Who we say we are.
    package var userAgent = UserAgent.current()

    /// Makes the options of the official SDK.
    package init() {}
}

/// What a call of the backend ends with when syncing is to end, for a caller that is not cancelled with it.
struct SyncStopped: Error {}

/// The app's backend as sync sees it.
package struct SyncBackend: Sendable {
    /// Returns fresh credentials; nil means that nobody is signed in.
    package var fetchCredentials: @Sendable () async throws -> SyncCredentials?
    /// Uploads some of the queue.
    package var uploadData: @Sendable () async throws -> Void

    /// Stores a checkpoint request in place of the service; gets its id and that of the client, and returns the greatest
    /// id that is stored.
    package typealias CheckpointRequestPost = @Sendable (Int64, String) async throws -> Int64
    /// Stores checkpoint requests in place of the service; nil for a backend that does not.
    package var postCheckpointRequest: CheckpointRequestPost?

    /// Makes a backend of its parts.
    package init(
        fetchCredentials: @escaping @Sendable () async throws -> SyncCredentials?,
        uploadData: @escaping @Sendable () async throws -> Void,
        postCheckpointRequest: CheckpointRequestPost? = nil
    ) {
        self.fetchCredentials = fetchCredentials
        self.uploadData = uploadData
        self.postCheckpointRequest = postCheckpointRequest
    }
}

/// Where log lines of sync go; the tag is the caller's.
package typealias SyncLog = @Sendable (LogSeverity, String) -> Void
