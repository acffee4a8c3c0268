import PowerSyncWire

/// How a connection syncs.
package struct SyncOptions: Sendable {
    /// What the stream is asked for, without the streams that the app holds.
    package var start = SyncStart()
    /// The wait after a failure.
    package var retryDelay = Duration.seconds(5)
    /// The least time between the starts of two upload rounds.
    package var uploadThrottle = Duration.seconds(1)
    /// Whether changes are uploaded although no stream is open (client-api 3.2).
    package var uploadsWhileDisconnected = false
    /// The largest line of a stream in bytes; a row of 16 MiB doubles when it is escaped.
    package var lineLimit = 48 << 20
    /// Whether the service is asked for lines in BSON; what it answers is taken either way.
    package var prefersBinaryLines = false
    /// How much of what comes is stored at once.
    package var tuning = StorageTuning.standard
    /// Who we say we are.
    package var userAgent = UserAgent.current()

    /// Makes the options of the official SDK.
    package init() {}
}

/// The app's backend as sync sees it.
package struct SyncBackend: Sendable {
    /// Returns fresh credentials; nil means that nobody is signed in.
    package var fetchCredentials: @Sendable () async throws -> SyncCredentials?
    /// Uploads some of the queue.
    package var uploadData: @Sendable () async throws -> Void

    /// Makes a backend of its parts.
    package init(
        fetchCredentials: @escaping @Sendable () async throws -> SyncCredentials?,
        uploadData: @escaping @Sendable () async throws -> Void
    ) {
        self.fetchCredentials = fetchCredentials
        self.uploadData = uploadData
    }
}

/// Where log lines of sync go; the tag is the caller's.
package typealias SyncLog = @Sendable (LogSeverity, String) -> Void
