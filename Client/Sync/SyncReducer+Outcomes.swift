import PowerSyncWire

/// What the store's answers lead to.
extension SyncReducer {
    static func prepared(_ state: inout SyncState, _ preparation: Preparation) -> [SyncEffect] {
        state.phase = .beforeCheckpoint(known: preparation.buckets.map(\.name))
        state.requested = preparation.subscriptions
        state.status = preparation.status
        state.status.connecting = true
        state.status.connected = false
        let request = SyncStreamRequest(
            buckets: preparation.buckets, clientID: preparation.clientID, parameters: state.start.parameters,
            streams: StreamSubscriptions(
                includeDefaults: state.start.includeDefaults,
                subscriptions: preparation.subscriptions.map(StreamSubscription.init)),
            appMetadata: state.start.appMetadata)
        let checkpoint: CheckpointRequestBody? =
            switch state.start.checkpointMode {
            case .legacy: nil
            case .requests:
                CheckpointRequestBody(clientID: preparation.clientID, id: preparation.firstCheckpointRequest)
            }
        let warnings = preparation.unreadableStreams.map { name in
            SyncEffect.log(
                .warning,
                "A subscription to stream \(name) is not requested, because its parameters cannot be read")
        }
        return warnings + tell(&state) + [.open(request, checkpointRequest: checkpoint)]
    }

    /// client-core 6.10 and 7.3: progress by priority and by stream.
    static func tracked(_ state: inout SyncState, _ outcome: TrackOutcome) -> [SyncEffect] {
        guard case .tracking(let checkpoint) = state.phase else { return [] }
        var streams = outcome.subscriptions
        let positions = Dictionary(uniqueKeysWithValues: streams.enumerated().map { ($1.id, $0) })
        var progress: [Int: PriorityProgress] = [:]
        var streamsOfBucket: [ExactText: [Int]] = [:]
        for (name, bucket) in checkpoint.buckets {
            let counters = outcome.counters[name] ?? BucketCounters(atLast: 0, sinceLast: 0)
            let total = (bucket.count ?? 0).subtractingSaturated(counters.atLast)
            let priority = bucket.effectivePriority
            progress[
                priority,
                default: PriorityProgress(priority: priority, totalOperations: 0, downloadedOperations: 0)
            ].add(total: total, downloaded: counters.sinceLast)
            let rows = bucket.subscriptions.compactMap { reason -> Int? in
                switch reason {
                case .defaultStream(let index): outcome.defaultRows[index].flatMap { positions[$0] }
                case .subscription(let index):
                    state.requested.indices.contains(index) ? positions[state.requested[index].id] : nil
                }
            }
            streamsOfBucket[name] = Array(Set(rows))
            for row in Set(rows) {
                streams[row].priority = max(streams[row].priority ?? priority, priority)
                streams[row].totalOperations = streams[row].totalOperations.addingSaturated(total)
                streams[row].downloadedOperations += counters.sinceLast
            }
        }
        let downloading = progress.values.sorted { $0.priority < $1.priority }
        let slots = Dictionary(uniqueKeysWithValues: downloading.enumerated().map { ($1.priority, $0) })
        state.routes = checkpoint.buckets.compactMapValues { bucket in
            slots[bucket.effectivePriority].map {
                BucketRoute(priority: $0, streams: streamsOfBucket[ExactText(bucket.bucket)] ?? [])
            }
        }
        state.pending = nil
        state.status.downloading = downloading
        state.status.streams = streams
        let event = state.diagnostics?.track(checkpoint, outcome.counters)
        return errorLines(state, checkpoint) + tell(&state) + (event.map { [.diagnostics($0)] } ?? [])
    }

    /// Streams that the service could not resolve (client-core 7.3).
    private static func errorLines(_ state: SyncState, _ checkpoint: TrackedCheckpoint) -> [SyncEffect] {
        checkpoint.streams.flatMap { stream in
            stream.errors.compactMap { error -> SyncEffect? in
                guard let index = error.subscription else {
                    return .log(
                        .warning, "Default subscription \(stream.name) has errors: \(error.message)")
                }
                guard state.requested.indices.contains(index) else { return nil }
                let subscription = state.requested[index]
                let parameters =
                    subscription.parameters == "null"
                    ? "(without parameters)" : "(with parameters \(subscription.parameters))"
                return .log(
                    .warning,
                    "Subscription to stream \(stream.name) \(parameters) could not be resolved: \(error.message)"
                )
            }
        }
    }

    static func applied(
        _ state: inout SyncState, _ request: ApplyRequest, _ outcome: ApplyOutcome
    ) -> [SyncEffect] {
        switch outcome {
        case .applied(let now):
            if let priority = request.priority {
                return appliedPartially(&state, request, priority: priority, at: now)
            }
            return appliedCompletely(&state, request, at: now)
        case .blocked, .mismatch:
            if request.cause == .completedUpload {
                return [.log(.warning, "Could not apply pending checkpoint even after completed upload")]
            }
        }
        switch outcome {
        case .mismatch(let failures):
            let kind = request.priority == nil ? "checkpoint" : "partial checkpoint"
            let text = failures.map(\.description).joined(separator: ", ")
            let message = "Could not apply \(kind), Checksums didn't match, failed for: \(text)"
            return [.log(.warning, message)] + close(&state, .checksumMismatch(message))
        case .blocked where request.priority == nil:
            state.pending = request.checkpoint
            return [
                .log(
                    .info,
                    "Could not apply checkpoint due to local data. Will retry at completed upload or next checkpoint."
                )
            ] + tell(&state)
        case .blocked, .applied: return tell(&state)
        }
    }

    private static func appliedCompletely(
        _ state: inout SyncState, _ request: ApplyRequest, at now: Int64
    ) -> [SyncEffect] {
        let id = request.checkpoint.writeCheckpoint
        state.diagnostics?.complete(request.checkpoint)
        state.status.stopDownloading()
        state.status.priorities = [PrioritySyncState(priority: PrioritySyncState.fullSync, lastSyncedAt: now)]
        state.status.appliedCheckpointRequestID = id
        for index in state.status.streams.indices { state.status.streams[index].lastSyncedAt = now }
        let message =
            request.cause == .line
            ? "Validated and applied checkpoint" : "Applied pending checkpoint after completed upload"
        var effects: [SyncEffect] = [.log(.debug, message)]
        if let id { effects.append(.log(.debug, "Applied checkpoint request id \(id)")) }
        effects.append(.completed(appliedCheckpointRequestID: id))
        return effects + tell(&state)
    }

    private static func appliedPartially(
        _ state: inout SyncState, _ request: ApplyRequest, priority: Int, at now: Int64
    ) -> [SyncEffect] {
        let later = state.status.priorities.filter { $0.priority > priority }
        state.status.priorities = [PrioritySyncState(priority: priority, lastSyncedAt: now)] + later
        let complete = Set(request.streamIDs)
        for index in state.status.streams.indices where complete.contains(state.status.streams[index].id) {
            state.status.streams[index].lastSyncedAt = now
        }
        return tell(&state)
    }

    /// client-core 6.8: the pending checkpoint is consumed whatever comes of it.
    static func applyPending(_ state: inout SyncState, target: Int64?) -> [SyncEffect] {
        guard let pending = state.pending else { return [] }
        state.pending = nil
        if let target, (pending.writeCheckpoint ?? Int64.min) < target { return [] }
        return [
            .perform(
                .apply(
                    ApplyRequest(
                        checkpoint: pending, priority: nil, streamIDs: state.status.streams.map(\.id),
                        cause: .completedUpload)))
        ]
    }

    static func rebuilt(
        _ state: inout SyncState, _ subscriptions: [RequestedSubscription], active: [StreamKey]
    ) -> [SyncEffect] {
        let isSame = subscriptions.elementsEqual(state.requested) { $0.asksForTheSame(as: $1) }
        guard isSame else { return close(&state, .subscriptionsChanged) }
        state.start.activeStreams = active
        return tell(&state)
    }
}

extension PriorityProgress {
    fileprivate mutating func add(total: Int64, downloaded: Int64) {
        totalOperations = totalOperations.addingSaturated(total)
        downloadedOperations += downloaded
    }
}

extension StreamSubscription {
    fileprivate init(_ subscription: RequestedSubscription) {
        self.init(
            stream: subscription.name, parameters: subscription.json, overridePriority: subscription.priority)
    }
}
