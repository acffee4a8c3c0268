import PowerSyncWire

/// One stream from its request to its end.
extension SyncCoordinator {
    /// Runs one iteration; never throws, what fails is shown in the status.
    func iterate() async -> IterationEnd {
        var end: IterationEnd
        var failure: (any Error)?
        do {
            end = .closed(try await stream())
        } catch is CancellationError where Task.isCancelled {
            end = .cancelled
        } catch {
            if let error = error as? SyncError, error.status == 401 {
                log(.info, "The service refused the credentials; new ones are fetched for the next attempt")
            }
            log(.error, "Sync iteration failed: \(error)")
            failure = error
            end = .failed
            if error.isSilentConnection, retry.fellSilent() { end = .silent }
        }
        if case .closed(let reason) = end {
            if reason.reconnectsAtOnce {
                // Nobody knows how long the app takes to give others.
                let areCredentialsCached = await credentials.areCached
                isReplacing = status.current.connected && areCredentialsCached
                return end
            }
            if case .checksumMismatch(let message) = reason, retry.mismatched() {
                failure = SyncError(.checksumMismatch, message)
            }
        }
        batch = LineBatch()
        if iteration.isActive { iteration = SyncState() }
        // Whatever became of the last step: a pool of the app's own may fail behind its commit.
        database.endIteration()
        isReplacing = false
        status.disconnect(error: failure)
        return Task.isCancelled ? .cancelled : end
    }

    private func stream() async throws -> SyncCloseReason {
        var start = options.start
        start.activeStreams = activeStreams()
        var opening: (request: SyncStreamRequest, checkpoint: CheckpointRequestBody?)?
        for effect in try await step(.start(start)) {
            if case .open(let request, let checkpoint) = effect { opening = (request, checkpoint) }
        }
        guard let (request, checkpoint) = opening else {
            throw SyncError(.invalidState, "The iteration did not begin")
        }
        let prefetch = AsyncFlag()
        let earliest = nextRefresh
        let waiting = AsyncFlag()
        let inlet = mailbox.open()
        defer {
            mailbox.close()
            // Behind the last child: one that is being cancelled may still have its answer stored.
            if checkpoint != nil { status.progress.seed(.closed) }
        }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.read(request, into: inlet) }
            group.addTask { await self.prefetchCredentials(on: prefetch, notBefore: earliest) }
            if let checkpoint {
                status.progress.seed(.waiting)
                group.addTask { await self.requestCheckpoints(from: checkpoint, of: inlet) }
            }
            group.addTask { await self.watchLines(waiting) }
            group.addTask { await self.cutLog() }
            defer { group.cancelAll() }
            return try await self.handle(inlet, prefetch: prefetch, waiting: waiting)
        }
    }

    /// Handles what arrives until the reducer closes the stream.
    private func handle(
        _ inlet: SyncMailbox.Inlet, prefetch: AsyncFlag, waiting: AsyncFlag
    ) async throws -> SyncCloseReason {
        var lines = SyncLineReader(.json, limit: options.lineLimit, packing: .zstd)
        while true {
            let effects: [SyncEffect]
            switch try await mailbox.next() {
            case .input(.opened(let format)):
                lines = SyncLineReader(format, limit: options.lineLimit, packing: .zstd)
                effects = try await step(.connectionEstablished)
                // Not with the first line: a service may have none before it has seen an upload.
                uploads.raise()
                inlet.finish()
            case .input(.chunk(let bytes)):
                retry.heard()
                lines.append(bytes)
                let wasEmpty = batch.isEmpty
                if let reason = try await handleLines(&lines, prefetch) { return reason }
                if wasEmpty, !batch.isEmpty { waiting.raise() }
                inlet.finish()
                continue
            case .input(.ended):
                guard !lines.hasPartialLine else {
                    try await storeLines()
                    throw SyncError(.unexpectedResponse, "The stream ended in the middle of a line")
                }
                effects = try await step(.connectionEnded)
            case .input(.failed(let error)):
                try await storeLines()
                throw error
            case .control(.tokenRefreshed):
                nextRefresh = environment.uptime() + RetryPolicy.leastRefreshDistance
                effects = try await step(.tokenRefreshed)
            case .control(.subscriptionsChanged):
                effects = try await step(.subscriptionsChanged(active: activeStreams()))
            case .control(.uploadCompleted): effects = try await step(.uploadCompleted)
            case .control(.batchPauseEnded):
                if batch.isEmpty { continue }
                guard batch.isDue(now: environment.uptime(), cost: storingTime) else {
                    waiting.raise()
                    continue
                }
                try await storeLines()
                continue
            case .control(.pauseEnded): continue
            }
            if let reason = await perform(effects, prefetch) { return reason }
        }
    }

    /// Does what is left of a step; returns the reason if it closes the stream.
    func perform(_ effects: [SyncEffect], _ prefetch: AsyncFlag) async -> SyncCloseReason? {
        for effect in effects {
            switch effect {
            case .perform, .open, .status, .log, .completed, .diagnostics: continue
            case .fetchCredentials(expired: true): await credentials.invalidate()
            case .fetchCredentials(expired: false): prefetch.raise()
            case .close(let reason): return reason
            }
        }
        return nil
    }

    // MARK: Children of an iteration

    /// Says from time to time, while lines wait, that they may have waited enough.
    private nonisolated func watchLines(_ waiting: AsyncFlag) async {
        do {
            while true {
                try await waiting.wait()
                try await environment.batchPause()
                mailbox.post(.batchPauseEnded)
            }
        } catch {
            // Cancelled: the iteration is over.
        }
    }

    /// Cuts the log behind a complete checkpoint that made it long, which else the next local write would wait for.
    private nonisolated func cutLog() async {
        do {
            while true {
                try await completion.wait()
                try await database.cutLog()
            }
        } catch {
            // Left to the next stream.
            if Task.isCancelled { return completion.raise() }
            log(.warning, "The log of the database stays long: \(error)")
        }
    }

    /// Opens the stream and hands over what it brings.
    private nonisolated func read(_ body: SyncStreamRequest, into inlet: SyncMailbox.Inlet) async {
        do {
            try await credentials.using { credentials in
                let request = http.stream(body, with: credentials)
                let response = try await transport.open(request)
                defer { response.cancel() }
                let format = try SyncHTTP.format(
                    status: response.status, headers: response.headers, of: request)
                try await inlet.put(.opened(format))
                while let chunk = try await response.next() { try await inlet.put(.chunk(chunk)) }
                try await inlet.put(.ended)
            }
        } catch {
            if Task.isCancelled { return }
            // Cancellation while it waits to be handled: the iteration is over then.
            try? await inlet.put(.failed(error))
        }
    }

    /// Asks for checkpoints as long as the stream is open; a stream whose first request fails is of no use.
    private nonisolated func requestCheckpoints(
        from first: CheckpointRequestBody, of inlet: SyncMailbox.Inlet
    ) async {
        do {
            try await checkpointRequests.run(from: first)
        } catch {
            if !Task.isCancelled { inlet.fail(error) }
        }
    }

    /// Fetches credentials ahead of their end; the stream goes on meanwhile.
    private nonisolated func prefetchCredentials(on wanted: AsyncFlag, notBefore earliest: Duration) async {
        var earliest = earliest
        while true {
            do {
                try await wanted.wait()
                // A service that calls every token nearly over must not make us connect without a pause.
                let rest = earliest - environment.uptime()
                if rest > .zero { try await environment.sleep(rest) }
                earliest = environment.uptime() + RetryPolicy.leastRefreshDistance
                try await credentials.refresh()
                // The stream closes now; another call for the same credentials would be one too many.
                return mailbox.post(.tokenRefreshed)
            } catch {
                if Task.isCancelled { return }
                log(.warning, "Pre-fetching credentials that are about to expire has failed: \(error)")
            }
        }
    }
}
