/// What one sync session says of itself; the status is kept in ``SharedStatus`` alone.
///
/// Once the next session has begun, this one is not heard any more: an upload of the app that ends after its session
/// was given up must not be taken for one of the next.
package final class SyncStatusHub: Sendable {
    /// Raised when a stream is lost.
    let disconnected = AsyncFlag()
    private let shared: SharedStatus
    private let session: Int

    /// Begins a session.
    ///
    /// - Parameter shared: the status of the file.
    package init(of shared: SharedStatus) {
        self.shared = shared
        session = shared.beginSession()
    }

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
        update { snapshot in
            snapshot.uploading = false
            snapshot.uploadError = error
            return true
        }
    }

    /// Takes the upload error away.
    func clearUploadError() {
        update { snapshot in
            defer { snapshot.uploadError = nil }
            return snapshot.uploadError != nil
        }
    }

    /// Shows what is stored, unless a stream is open or being opened; see ``SharedStatus/refresh(resetting:reading:)``.
    func refresh(reading read: @Sendable () async throws -> SyncIterationStatus) async throws {
        try await shared.refresh(reading: read)
    }

    private func change(error: (any Error)?, _ change: (inout SyncIterationStatus) -> Void) {
        var isLost = false
        update { snapshot in
            var iteration = snapshot.iteration
            change(&iteration)
            guard error != nil || iteration != snapshot.iteration else { return false }
            isLost = snapshot.connected && !iteration.connected
            snapshot.iteration = iteration
            if let error { snapshot.downloadError = error }
            return true
        }
        if isLost { disconnected.raise() }
    }

    private func update(_ change: (inout SyncStatusSnapshot) -> Bool) {
        shared.update(inSession: session, change)
    }
}
