import PowerSyncWire

/// How the lines of a stream become events, and data lines batches (SPEC.md, "Batches").
extension SyncCoordinator {
    /// Handles all whole lines that are there; data lines may only be kept to be stored with others.
    func handleLines(
        _ lines: inout SyncLineReader, _ prefetch: AsyncFlag
    ) async throws -> SyncCloseReason? {
        while let event = try await nextLine(&lines) {
            if case .data(let data) = event {
                let now = environment.uptime()
                for line in data { batch.append(line, now: now) }
                if batch.isFull(limit: pace.limit(at: now)) { try await storeLines() }
            } else if let reason = await perform(try await step(event), prefetch) {
                return reason
            }
            if case .line(.tokenExpiresIn, _) = event { uploads.raise() }
        }
        return nil
    }

    /// Reads a line; data comes as what can be stored.
    private func nextLine(_ lines: inout SyncLineReader) async throws -> SyncEvent? {
        do {
            guard let (line, size) = try lines.next() else { return nil }
            guard case .data(let data) = line else { return .line(line, size: size) }
            return .data([try StorableLine(data, size: size)])
        } catch {
            // Whole lines before a bad one are stored, so that the next request goes on behind them.
            try await storeLines()
            if let error = error as? SyncError { throw error }
            let kind = lines.format == .json ? "text" : "binary"
            throw SyncError(.protocolViolation, "invalid \(kind) line", cause: error)
        }
    }

    /// Stores the data lines that wait, then takes in another event.
    func step(_ event: SyncEvent) async throws -> [SyncEffect] {
        try await storeLines()
        return try await feed(event).effects
    }

    /// Stores the data lines that wait.
    ///
    /// In transactions short enough for others, who come between two of them.
    func storeLines() async throws {
        while !batch.isEmpty {
            try await database.shortenLog()
            let now = environment.uptime()
            lookForWrites(now)
            let (lines, bytes) = batch.take(limit: pace.limit(at: now))
            storingTime = try await feed(.data(lines)).hold
            pace.stored(bytes, in: storingTime, limitedAt: now)
        }
    }

    /// Feeds an event to the reducer, and shows what comes of it in its order; the state changes only with the commit.
    private func feed(_ event: SyncEvent) async throws -> (effects: [SyncEffect], hold: Duration) {
        let result = try await database.step(event, iteration, tuning: options.tuning)
        iteration = result.iteration
        for effect in result.effects {
            switch effect {
            case .status(let status): self.status.show(visible(status))
            case .log(let severity, let message): log(severity, message)
            case .completed:
                retry.succeeded()
                status.clearDownloadError()
                completion.raise()
            case .perform, .open, .diagnostics, .fetchCredentials, .close: continue
            }
        }
        return (result.effects, result.hold)
    }

    /// Returns a status as the app sees it.
    ///
    /// A stream that is opened in the place of another one shows as that one did (client-core 6.9, `hide_disconnect`):
    /// an app with a new token, or with one more subscription, is not offline. One that has to give credentials first
    /// may be.
    private func visible(_ status: SyncIterationStatus) -> SyncIterationStatus {
        guard isReplacing, status.connecting else { return status }
        var visible = status
        visible.connecting = false
        visible.connected = true
        return visible
    }

    /// Looks whether the app has asked for the writer since the last look.
    private func lookForWrites(_ now: Duration) {
        let count = database.appWrites
        if count != appWrites { pace.appWrites(at: now) }
        appWrites = count
    }
}
