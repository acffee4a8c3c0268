import PowerSyncWire

@testable import PowerSync

/// The example on which every cell of the table of Client/Sync/SPEC.md is tried; the page describes it.
enum SyncReducerExample {
    /// The states of the page.
    enum Phase: String, CaseIterable { case idle, before, tracking, blocked }

    static let subscriptions = [RequestedSubscription(id: 7, name: "s", parameters: "null")]

    static func start(_ mode: SyncStart.CheckpointMode) -> SyncStart {
        SyncStart(activeStreams: [StreamKey(name: "s")], checkpointMode: mode, wantsDiagnostics: true)
    }

    static var preparation: Preparation {
        Preparation(
            status: SyncIterationStatus(), clientID: "c", buckets: [BucketRequest(name: "old", after: 4)],
            subscriptions: subscriptions, firstCheckpointRequest: 6)
    }

    static var tracked: TrackOutcome {
        TrackOutcome(
            counters: [ExactText("a"): BucketCounters(atLast: 1, sinceLast: 1)],
            subscriptions: [StreamSyncState(id: 7, name: "s")], defaultRows: [:])
    }

    private static let checkpoint = SyncLines.checkpoint(
        1, [.init("a", count: 9, subscriptions: #"[{"sub":0}]"#)], writeCheckpoint: 3,
        streams: #"[{"name":"s","is_default":false,"errors":[{"subscription":0,"message":"refused"}]}]"#)

    static func line(_ text: String) throws -> SyncEvent {
        .line(try SyncLine(parsing: Array(text.utf8)), size: text.utf8.count)
    }

    static func request(
        _ priority: Int?, _ cause: ApplyRequest.Cause = .line, writeCheckpoint: Int? = nil
    ) -> ApplyRequest {
        let checkpoint = Checkpoint(
            lastOpID: 1, writeCheckpoint: writeCheckpoint.map(Int64.init), buckets: [])
        return ApplyRequest(
            checkpoint: TrackedCheckpoint(checkpoint), priority: priority, streamIDs: [7], cause: cause)
    }

    /// A state in which the status has been told and the stream is connected.
    static func state(_ phase: Phase, _ mode: SyncStart.CheckpointMode) throws -> SyncState {
        var state = SyncState()
        guard phase != .idle else { return state }
        _ = try SyncReducer.reduce(&state, .start(start(mode)))
        _ = try SyncReducer.reduce(&state, .prepared(preparation))
        _ = try SyncReducer.reduce(&state, .connectionEstablished)
        if phase == .before { return state }
        _ = try SyncReducer.reduce(&state, line(checkpoint))
        _ = try SyncReducer.reduce(&state, .tracked(tracked))
        if phase == .tracking { return state }
        guard case .tracking(let checkpoint) = state.phase else { return state }
        let request = ApplyRequest(checkpoint: checkpoint, priority: nil, streamIDs: [7], cause: .line)
        _ = try SyncReducer.reduce(&state, .applied(request, .blocked))
        return state
    }

    /// Returns what the page has to say of an event: effects, and the next state if it is another one.
    static func cell(_ event: SyncEvent, in phase: Phase, mode: SyncStart.CheckpointMode) throws -> String {
        var told = try state(phase, mode)
        // The same, but that something has changed since the status was told.
        var untold = told
        untold.told = nil
        let (silent, all): ([SyncEffect], [SyncEffect])
        do {
            silent = try SyncReducer.reduce(&told, event)
            all = try SyncReducer.reduce(&untold, event)
        } catch {
            return switch error.code {
            case .invalidState: "error"
            case .protocolViolation: "protocol error"
            default: "\(error)"
            }
        }
        var texts: [String] = []
        var rest = silent[...]
        for effect in all {
            let text = effect.text
            if rest.first?.text == text {
                rest = rest.dropFirst()
                texts.append(text)
            } else if case .status = effect {
                texts.append(text.replacing("status(", with: "status?("))
            } else {
                texts.append("\(text), or \(rest.first?.text ?? "nothing")")
            }
        }
        texts += rest.map { "\($0.text) unless the status is told" }
        let end = untold.name
        return (texts.isEmpty ? "·" : texts.joined(separator: ", "))
            + (end == phase ? "" : " → \(end.rawValue)")
    }
}

extension SyncState {
    fileprivate var name: SyncReducerExample.Phase {
        switch phase {
        case .idle: .idle
        case .beforeCheckpoint: .before
        case .tracking: pending == nil ? .tracking : .blocked
        }
    }
}

// MARK: Effects as the page writes them

private func list(_ parts: [String?]) -> String { parts.compactMap { $0 }.joined(separator: "; ") }

extension SyncEffect {
    fileprivate var text: String {
        switch self {
        case .perform(let task): return "perform \(task.text)"
        case .open(let request, let checkpoint):
            let buckets = request.buckets.map { "\($0.name) after \($0.after)" }.joined(separator: ", ")
            let streams = request.streams?.subscriptions.map { "stream \($0.stream)" }
            return
                "open(\(list([buckets] + (streams ?? []) + [checkpoint.map { "checkpoint request \($0.id)" }])))"
        case .status(let status): return "status(\(status.text))"
        case .log(let severity, let text): return "log(\(severity.stringValue.lowercased()): \(text))"
        case .fetchCredentials(let expired):
            return expired ? "fetch credentials(expired)" : "fetch credentials"
        case .completed(let id): return id.map { "completed(\($0))" } ?? "completed"
        case .diagnostics(.buckets(let buckets, let incremental)):
            let progress = buckets.map { "\($0.name) \($0.atLast)+\($0.sinceLast)/\($0.target)" }
            return "diagnostics(\(incremental ? "" : "all: ")\(progress.joined(separator: ", ")))"
        case .diagnostics(.column(let table, let column, let type)):
            return "diagnostics(\(table).\(column) \(type.rawValue))"
        case .close(let reason): return "close(\(reason.text))"
        }
    }
}

extension SyncTask {
    fileprivate var text: String {
        func names(_ streams: [StreamKey]) -> String { streams.map(\.name).joined(separator: ", ") }
        switch self {
        case .prepare(let streams): return "prepare(\(names(streams)))"
        case .track(let checkpoint, let dropped):
            let dropping = dropped.isEmpty ? nil : "dropping \(dropped.joined(separator: ", "))"
            return "track(\(list([checkpoint.text, dropping])))"
        case .save(let lines):
            let texts = lines.map { storable in
                let operations = storable.line.operations.map { "\($0.id)" }.joined(separator: ", ")
                return "\(storable.line.bucket): \(operations); \(storable.size) bytes"
            }
            return "save(\(texts.joined(separator: ", ")))"
        case .apply(let request):
            let streams = request.streamIDs.map { "stream \($0)" }
            return "apply("
                + list(
                    [
                        request.checkpoint.text, request.priority.map { "priority \($0)" },
                        streams.isEmpty ? nil : streams.joined(separator: ", "),
                        request.cause == .completedUpload ? "pending" : nil,
                    ]) + ")"
        case .prolong(let streams): return "prolong(\(names(streams)))"
        case .rebuildSubscriptions(let streams): return "rebuild(\(names(streams)))"
        case .readTarget: return "read target"
        }
    }
}

extension TrackedCheckpoint {
    fileprivate var text: String {
        let id = writeCheckpoint.map { ", write checkpoint \($0)" } ?? ""
        return
            "\(lastOpID)\(buckets.isEmpty ? "" : " of \(buckets.keys.map(\.text).sorted().joined(separator: ", "))")\(id)"
    }
}

extension SyncIterationStatus {
    fileprivate var text: String {
        let progress = downloading.map { priorities in
            priorities.map { "\($0.priority): \($0.downloadedOperations)/\($0.totalOperations)" }
                .joined(separator: ", ")
        }
        let synced = priorities.map { priority in
            priority.priority == PrioritySyncState.fullSync
                ? "all synced" : "priority \(priority.priority) synced"
        }
        return list(
            [
                connected ? "connected" : connecting ? "connecting" : "offline", progress,
                synced.isEmpty ? nil : synced.joined(separator: ", "),
                appliedCheckpointRequestID.map { "write checkpoint \($0)" },
            ])
    }
}

extension SyncCloseReason {
    fileprivate var text: String {
        switch self {
        case .ended: "ended"
        case .tokenRefreshed: "token refreshed"
        case .tokenExpired: "token expired"
        case .subscriptionsChanged: "subscriptions changed"
        case .checksumMismatch: "checksum mismatch"
        }
    }
}
