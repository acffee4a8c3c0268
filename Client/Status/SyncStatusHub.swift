/// Owns the current status; tells each change once, in order, and nothing that is as it was.
package actor SyncStatusHub {
    /// The status now.
    package private(set) var current: SyncStatusSnapshot
    /// Raised when a stream is lost.
    nonisolated let disconnected = Signal()
    private let report: @Sendable (SyncStatusSnapshot) -> Void

    /// Makes a hub.
    ///
    /// - Parameters:
    ///   - snapshot: the status to begin with, the stored one.
    ///   - report: receives each new status; must not block.
    package init(_ snapshot: SyncStatusSnapshot, report: @escaping @Sendable (SyncStatusSnapshot) -> Void) {
        current = snapshot
        self.report = report
    }

    /// Sets what the iteration decides, and the download error with it.
    ///
    /// - Parameters:
    ///   - iteration: the new status.
    ///   - error: an error to show from now on; nil leaves the one that is shown.
    func show(_ iteration: SyncIterationStatus, error: (any Error)? = nil) {
        guard iteration != current.iteration || error != nil else { return }
        let isLost = current.connected && !iteration.connected
        current.iteration = iteration
        if let error { current.downloadError = error }
        report(current)
        if isLost { disconnected.raise() }
    }

    /// Shows the stream as lost.
    func disconnect(error: (any Error)? = nil) {
        var iteration = current.iteration
        iteration.disconnect()
        show(iteration, error: error)
    }

    /// Takes the download error away.
    func clearDownloadError() {
        guard current.downloadError != nil else { return }
        current.downloadError = nil
        report(current)
    }

    /// Sets whether changes are being uploaded.
    func setUploading(_ uploading: Bool) {
        guard uploading != current.uploading else { return }
        current.uploading = uploading
        report(current)
    }

    /// Ends uploading with an error.
    func uploadFailed(_ error: any Error) {
        current.uploading = false
        current.uploadError = error
        report(current)
    }

    /// Takes the upload error away.
    func clearUploadError() {
        guard current.uploadError != nil else { return }
        current.uploadError = nil
        report(current)
    }
}
