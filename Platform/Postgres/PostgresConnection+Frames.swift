extension PostgresConnection {
    /// Runs a COPY … TO STDOUT and hands over its rows as they came, many in one buffer.
    ///
    /// A buffer has what had arrived when it was handed over, up to the limits; nothing more is read before `body` returns,
    /// so a slow reader slows the server down. What `body` leaves in it is dropped, and the memory used again.
    ///
    /// - Parameters:
    ///   - sql: The statement.
    ///   - limits: When a buffer is full.
    ///   - body: Gets each buffer, which is not empty.
    /// - Throws: `PostgresError`, `CancellationError`, and what `body` throws, after which the COPY is stopped.
    package func copyOutFrames(
        _ sql: String, limits: PostgresFrames.Limits = PostgresFrames.Limits(),
        _ body: @Sendable (inout PostgresFrames) async throws -> Void
    ) async throws {
        try refuseNUL(sql, "a statement")
        try await exclusively {
            try await beginCopyOut(sql)
            try await readFrames(limits, body)
            try await endCopyOut()
        }
    }

    /// The messages of the stream that have arrived, up to the limits, but at least one; nil when the deadline passes first.
    ///
    /// Each is one that `ReplicationFrame` reads. Waits, ends and is cancelled as `nextReplicationMessage`; what has been
    /// received by then is not lost: it comes before the end.
    ///
    /// - Parameters:
    ///   - deadline: When waiting for the first message is over; nil for never.
    ///   - limits: When the buffer is full.
    /// - Returns: The messages.
    /// - Throws: `PostgresError`, `CancellationError`.
    package func nextReplicationFrames(
        until deadline: ContinuousClock.Instant? = nil,
        limits: PostgresFrames.Limits = PostgresFrames.Limits()
    ) async throws -> PostgresFrames? {
        try beginReadingStream()
        defer { isStreamBeingRead = false }
        // A stream that never runs dry must still end when its task is cancelled, and nothing has been taken yet.
        try Task.checkCancellation()
        var frames = PostgresFrames()
        var isLost = false
        while true {
            let step = try isStreamAtEnd ? .end : gather(&frames, limits)
            switch step {
            case .data: return frames
            case .end:
                if !frames.isEmpty {
                    // The next call tells of the end.
                    isStreamAtEnd = true
                    return frames
                }
                isStreamAtEnd = false
                try await endOfStream()
                throw PostgresError(.connectionLost, "the server ended the replication stream")
            case .wait:
                if !frames.isEmpty { return frames }
                if isLost { throw handle.lost() }
                guard try await waitReadable(until: deadline) else { return nil }
                // What had arrived before a loss is still to be read.
                isLost = !handle.consumeInput()
            }
        }
    }

    private func readFrames(
        _ limits: PostgresFrames.Limits, _ body: @Sendable (inout PostgresFrames) async throws -> Void
    ) async throws {
        var frames = PostgresFrames()
        while true {
            let step = try gather(&frames, limits)
            if !frames.isEmpty {
                try await body(&frames)
                frames.removeAll()
            }
            switch step {
            case .data: try Task.checkCancellation()
            case .end: return
            case .wait:
                guard try await waitReadable(until: end(of: nil)) else { throw Self.tooSlow }
                guard handle.consumeInput() else { throw handle.lost() }
            }
        }
    }

    /// Takes messages that have arrived until the buffer is full, without waiting; `data` says that it is.
    private func gather(
        _ frames: inout PostgresFrames, _ limits: PostgresFrames.Limits
    ) throws(PostgresError) -> ConnectionHandle.CopyStep<Void> {
        while true {
            switch try handle.takeCopyData(into: &frames) {
            case .data: if frames.isFull(limits) { return .data(()) }
            case .end: return .end
            case .wait:
                // libpq reads some ten kilobytes at a time, and the system may have more. The next read reports a loss.
                guard !frames.isEmpty, handle.isReadable, handle.consumeInput() else { return .wait }
            }
        }
    }
}
