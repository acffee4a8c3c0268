/// What one sync session says of itself; the status is kept in ``SharedStatus`` alone.
///
/// Once the next session has begun, this one is not heard any more: an upload of the app that ends after its session
/// was given up must not be taken for one of the next.
package final class SyncStatusHub: Sendable {
    /// Raised when a stream is lost.
    let disconnected = AsyncFlag()
    private let shared: SharedStatus
    /// The number of the session.
    let session: Int

    /// Begins a session.
    ///
    /// - Parameter shared: the status of the file.
    package init(of shared: SharedStatus) {
        self.shared = shared
        session = shared.beginSession()
    }

    /// Lets those go who wait for a session that was never run.
    deinit { endSession() }

    /// What syncing has come to, for whoever waits for a part of it.
    var progress: SessionProgress { shared.progress }

    /// Says that this session begins.
    ///
    /// - Parameter requestsCheckpoints: whether it asks for checkpoints.
    func beginSession(requestsCheckpoints: Bool) {
        progress.begin(session, requestsCheckpoints: requestsCheckpoints)
    }

    /// Says that this session is over.
    func endSession() { progress.end(session) }

    /// The newest status, whoever told it.
    package var current: SyncStatusSnapshot { shared.current ?? SyncStatusSnapshot() }

    /// Sets what the iteration decides, and the download error with it.
    ///
    /// - Parameters:
    ///   - iteration: the new status.
    ///   - error: an error to show from now on; nil leaves the one that is shown.
    func show(_ iteration: SyncIterationStatus, error: (any Error)? = nil) {
        change(error: error) { $0 = iteration }
    }

    /// Shows the stream as lost.
    func disconnect(error: (any Error)? = nil) {
        change(error: error) { $0.disconnect() }
    }

    /// Takes the download error away.
    func clearDownloadError() {
        update { snapshot in
            defer { snapshot.downloadError = nil }
            return snapshot.downloadError != nil
        }
    }

    /// Sets whether changes are being uploaded.
    func setUploading(_ uploading: Bool) {
        update { snapshot in
            defer { snapshot.uploading = uploading }
            return snapshot.uploading != uploading
        }
    }

    /// Ends uploading with an error.
    func uploadFailed(_ error: any Error) {
        var isShown = false
        update { snapshot in
            isShown = true
            snapshot.uploading = false
            snapshot.uploadError = error
            return true
        }
        if isShown { progress.failed(error) }
    }

    /// Takes the upload error away.
    func clearUploadError() {
        update { snapshot in
            defer { snapshot.uploadError = nil }
            return snapshot.uploadError != nil
        }
    }

    /// Shows what is stored, unless a stream is open or being opened; see ``SharedStatus/refresh(reading:)``.
    func refresh(reading read: @Sendable () async throws -> SyncIterationStatus) async throws {
        try await shared.refresh(reading: read)
    }

    private func change(error: (any Error)?, _ change: (inout SyncIterationStatus) -> Void) {
        var isLost = false
        var shown: (any Error)?
        var applied: Int64?
        var isConnected: Bool?
        update { snapshot in
            var iteration = snapshot.iteration
            change(&iteration)
            guard error != nil || iteration != snapshot.iteration else { return false }
            isLost = snapshot.connected && !iteration.connected
            if iteration.appliedCheckpointRequestID != snapshot.iteration.appliedCheckpointRequestID {
                applied = iteration.appliedCheckpointRequestID
            }
            if iteration.connected != snapshot.connected { isConnected = iteration.connected }
            shown = error
            snapshot.iteration = iteration
            if let error { snapshot.downloadError = error }
            return true
        }
        if isLost { disconnected.raise() }
        if let isConnected { progress.connected(isConnected) }
        if let applied { progress.applied(applied) }
        if let shown { progress.failed(shown) }
    }

    private func update(_ change: (inout SyncStatusSnapshot) -> Bool) {
        shared.update(inSession: session, change)
    }
}
