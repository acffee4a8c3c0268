import PowerSyncWire

/// Decides what a sync iteration does; see SPEC.md in this folder for states, events and the table.
///
/// No I/O, no clock, no SQL: what needs the database is asked for as ``SyncEffect/perform(_:)`` and comes back as
/// an event. A caller that keeps the old value of the state has it unchanged when anything throws.
package enum SyncReducer {
    /// Takes in one event.
    ///
    /// - Parameters:
    ///   - state: the iteration; unusable after a throw, go on with the value before.
    ///   - event: what happened.
    /// - Returns: what to do, in this order.
    /// - Throws: `SyncError` for a line that breaks the protocol and for input without an iteration.
    package static func reduce(_ state: inout SyncState, _ event: SyncEvent) throws(SyncError) -> [SyncEffect]
    {
        switch event {
        case .start(let start):
            state = SyncState()
            state.start = start
            state.diagnostics = start.wantsDiagnostics ? SyncDiagnostics() : nil
            state.phase = .beforeCheckpoint(known: [])
            return [.perform(.prepare(activeStreams: start.activeStreams))]
        case .stop:
            guard state.isActive else { return [] }
            return end(&state, .ended)
        default:
            guard state.isActive else {
                throw SyncError(.invalidState, "No iteration is active")
            }
        }
        switch event {
        case .start, .stop: return []
        case .connectionEstablished:
            markConnected(&state)
            return tell(&state)
        case .connectionEnded: return end(&state, .ended)
        case .line(let line, let size):
            markConnected(&state)
            return try reduce(&state, line, size: size)
        case .data(let lines):
            markConnected(&state)
            return save(&state, lines)
        case .tokenRefreshed: return close(&state, .tokenRefreshed)
        case .uploadCompleted: return state.pending == nil ? [] : [.perform(.readTarget)]
        case .subscriptionsChanged(let active):
            return [.perform(.prolong(active)), .perform(.rebuildSubscriptions(keeping: active))]
        case .prepared(let preparation): return prepared(&state, preparation)
        case .tracked(let outcome): return tracked(&state, outcome)
        case .saved(let counts):
            for (bucket, count) in counts { addProgress(&state, bucket: bucket, operations: Int64(count)) }
            let event = state.diagnostics?.add(counts)
            return tell(&state) + (event.map { [.diagnostics($0)] } ?? [])
        case .applied(let request, let outcome): return applied(&state, request, outcome)
        case .subscriptionsRebuilt(let subscriptions, let active):
            return rebuilt(&state, subscriptions, active: active)
        case .target(let target): return applyPending(&state, target: target)
        }
    }

    private static func reduce(
        _ state: inout SyncState, _ line: SyncLine, size: Int
    ) throws(SyncError) -> [SyncEffect] {
        switch line {
        case .checkpoint(let line): return try follow(&state, checkpoint: line)
        case .checkpointDiff(let diff): return try follow(&state, diff: diff)
        case .data(let line): return save(&state, [try StorableLine(line, size: size)])
        case .checkpointComplete:
            guard case .tracking(let checkpoint) = state.phase else {
                throw SyncError(
                    .protocolViolation, "Received checkpoint complete without previous checkpoint")
            }
            return [
                .perform(
                    .apply(
                        ApplyRequest(
                            checkpoint: checkpoint, priority: nil, streamIDs: state.status.streams.map(\.id),
                            cause: .line)))
            ]
        case .partialCheckpointComplete(_, let priority):
            guard case .tracking(let checkpoint) = state.phase else {
                throw SyncError(.invalidState, "Received checkpoint complete without previous checkpoint")
            }
            // A stream without buckets has no priority and is not complete with any.
            let streams = state.status.streams.filter { stream in
                stream.priority.map { $0 <= priority } ?? false
            }
            return [
                .perform(
                    .apply(
                        ApplyRequest(
                            checkpoint: checkpoint, priority: priority, streamIDs: streams.map(\.id),
                            cause: .line)))
            ]
        case .tokenExpiresIn(let seconds): return tokenExpires(&state, in: seconds)
        case .unknown: return [.log(.debug, "Unknown sync line")] + tell(&state)
        }
    }

    /// client-core 6.6: what data lines bring; of several the status tells only what they come to.
    private static func save(_ state: inout SyncState, _ lines: [StorableLine]) -> [SyncEffect] {
        var effects: [SyncEffect] = [.perform(.save(lines))]
        if var diagnostics = state.diagnostics {
            // The outcome of saving is told before.
            for line in lines {
                effects += diagnostics.look(at: line.line).map { SyncEffect.diagnostics($0) }
            }
            state.diagnostics = diagnostics
        }
        return effects
    }

    /// client-core 6.5: a new full checkpoint replaces everything that was known.
    private static func follow(
        _ state: inout SyncState, checkpoint line: Checkpoint
    ) throws(SyncError) -> [SyncEffect] {
        let checkpoint = TrackedCheckpoint(line)
        try checkpoint.check()
        let known: [String]
        switch state.phase {
        case .idle: known = []
        case .beforeCheckpoint(let names): known = names
        case .tracking(let previous): known = previous.buckets.keys.map(\.text)
        }
        state.phase = .tracking(checkpoint)
        let dropped = known.filter { checkpoint.buckets[ExactText($0)] == nil }.sorted()
        return [.perform(.track(checkpoint, dropping: dropped))]
    }

    private static func follow(
        _ state: inout SyncState, diff: CheckpointDiff
    ) throws(SyncError) -> [SyncEffect] {
        guard case .tracking(var checkpoint) = state.phase else {
            throw SyncError(.protocolViolation, "Received checkpoint_diff without previous checkpoint")
        }
        checkpoint.apply(diff)
        try checkpoint.check()
        state.phase = .tracking(checkpoint)
        return [.perform(.track(checkpoint, dropping: diff.removedBuckets))]
    }

    private static func tokenExpires(_ state: inout SyncState, in seconds: Int) -> [SyncEffect] {
        let active = state.start.activeStreams
        if seconds <= 0 {
            return [.perform(.prolong(active)), .fetchCredentials(expired: true)]
                + close(&state, .tokenExpired)
        }
        if seconds <= 30 {
            return [.perform(.prolong(active)), .fetchCredentials(expired: false)] + tell(&state)
        }
        return [.perform(.prolong(active)), .perform(.rebuildSubscriptions(keeping: active))]
    }

    // MARK: Steps that several events share

    static func markConnected(_ state: inout SyncState) {
        state.status.connecting = false
        state.status.connected = true
    }

    /// The status if it differs from the one told last.
    static func tell(_ state: inout SyncState) -> [SyncEffect] {
        guard state.status != state.told else { return [] }
        state.told = state.status
        return [.status(state.status)]
    }

    /// Ends the iteration and shows that.
    static func end(_ state: inout SyncState, _ reason: SyncCloseReason) -> [SyncEffect] {
        state.status.disconnect()
        let effects = tell(&state)
        return effects + close(&state, reason)
    }

    /// Ends the iteration without a change of the status: the caller decides what to show.
    static func close(_ state: inout SyncState, _ reason: SyncCloseReason) -> [SyncEffect] {
        state.phase = .idle
        state.pending = nil
        state.requested = []
        state.routes = [:]
        state.diagnostics = nil
        return [.close(reason)]
    }

    private static func addProgress(_ state: inout SyncState, bucket: ExactText, operations: Int64) {
        guard state.status.downloading != nil, let route = state.routes[bucket] else { return }
        state.status.downloading?[route.priority].downloadedOperations += operations
        for stream in route.streams { state.status.streams[stream].downloadedOperations += operations }
    }
}
