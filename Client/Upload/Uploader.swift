/// Sends local changes to the backend and asks for write checkpoints (client-api 3.1 to 3.6).
struct Uploader: Sendable {
    let database: SyncDatabase
    let upload: @Sendable () async throws -> Void
    let credentials: CredentialsCache
    let transport: any SyncTransport
    let http: SyncHTTP
    let checkpointRequests: CheckpointRequests
    let options: SyncOptions
    let status: SyncStatusHub
    let environment: SyncEnvironment
    let log: SyncLog
    /// Raised when there may be something to do.
    let trigger: AsyncFlag
    /// Called after each round.
    let roundEnded: @Sendable () -> Void

    /// Runs rounds until the task is cancelled.
    ///
    /// The first trigger after a rest starts a round at once; triggers during a round or the throttle after its start
    /// make one more together. The throttle runs beside the round, so a long one is followed at once.
    func run() async {
        do {
            while true {
                try await trigger.wait()
                // Without a stream nothing is sent; the next one that opens triggers again.
                guard isAllowed else { continue }
                let start = environment.uptime()
                try await round()
                roundEnded()
                let rest = options.uploadThrottle - (environment.uptime() - start)
                if rest > .zero { try await environment.sleep(rest) }
            }
        } catch {
            // Only cancellation ends the loop: a round deals with every other error.
            status.setUploading(false)
        }
    }

    /// Uploads until the queue is empty and its write checkpoint known.
    ///
    /// - Throws: `CancellationError`.
    private func round() async throws {
        var previous: Int64?
        var hasReplacedConnection = false
        while isAllowed {
            do {
                guard let front = try await database.read({ try $0.frontOfUploadQueue() }) else {
                    status.setUploading(false)
                    switch try await updateWriteCheckpoint() {
                    case .overtaken: continue
                    // Uploaded it is in both cases.
                    case .known, .unknown: status.clearUploadError()
                    }
                    return
                }
                if front == previous {
                    log(.warning, Self.stalledWarning)
                    throw SyncError(
                        .stalledUpload, "Delaying due to previously encountered CRUD item.")
                }
                if previous != nil { status.clearUploadError() }
                previous = front
                status.setUploading(true)
                try await upload()
                try Task.checkCancellation()
                hasReplacedConnection = false
                // Without a stream no other round would see that the queue has moved.
                if !isAllowed, try await database.read({ try $0.frontOfUploadQueue() }) != front {
                    status.clearUploadError()
                }
            } catch {
                // A connector may throw CancellationError for reasons of its own; only ours ends the round.
                try Task.checkCancellation()
                previous = nil
                log(.error, "Error uploading crud: \(error)")
                status.uploadFailed(error)
                if error.isSilentConnection, !hasReplacedConnection {
                    // As a stream: the first time without a pause.
                    hasReplacedConnection = true
                    continue
                }
                try await waitToRetry()
                guard status.current.connected else { return }
            }
        }
        status.setUploading(false)
    }

    private enum WriteCheckpoint {
        /// Nothing waits for one without a number.
        case known
        /// There were other writes meanwhile, which come first.
        case overtaken
        /// The stream over which it could be asked for is gone; the next one that opens triggers again.
        case unknown
    }

    /// Obtains a write checkpoint if local writes wait for one (client-core 8.2, 8.4).
    private func updateWriteCheckpoint() async throws -> WriteCheckpoint {
        let wanted = try await database.read { store in
            try store.writeAwaitingCheckpoint().map {
                ($0, try CoreExtension.of(store.connection).clientID())
            }
        }
        guard let (write, clientID) = wanted else { return .known }
        let id: Int64
        switch options.start.checkpointMode {
        case .legacy: id = try await writeCheckpoint(clientID)
        case .requests:
            guard let next = try await checkpointRequests.next(clientID: clientID, after: write) else {
                return .unknown
            }
            id = next
        }
        guard try await database.write({ try $0.setTarget(id, ifLastWriteIs: write) }) else {
            return .overtaken
        }
        checkpointRequests.sent.raise()
        return .known
    }

    private func writeCheckpoint(_ clientID: String) async throws -> Int64 {
        try await credentials.using { credentials in
            let request = http.writeCheckpoint(clientID: clientID, with: credentials)
            return try SyncHTTP.writeCheckpoint(from: try await transport.send(request))
        }
    }

    private var isAllowed: Bool { options.uploadsWhileDisconnected || status.current.connected }

    /// Waits for the retry delay, but not longer than the stream is open.
    private func waitToRetry() async throws {
        try await environment.waitToRetry(options.retryDelay) { [status] in
            while status.current.connected { try await status.disconnected.wait() }
        }
    }

    private static let stalledWarning = """
        Potentially previously uploaded CRUD entries are still present in the upload queue. \
        Make sure to handle uploads and complete CRUD transactions or batches by calling and awaiting \
        their [.complete()] method. The next upload iteration will be delayed.
        """
}
