import PowerSyncSystem

/// How many files wait in one state.
struct WaitingFiles: Sendable {
    /// The number of the state.
    let state: Int
    let files: Int
    let bytes: Int64
}

/// Holds the status of a queue, and tells of its changes.
final class AttachmentProgress: Sendable {
    /// The least time between two that are told.
    static let interval = Duration.milliseconds(100)
    /// The least time between two counts of what waits, each of which reads all of it.
    static let countInterval = Duration.milliseconds(500)
    /// How many errors are kept.
    static let mostErrors = 1000

    private struct Shown: Sendable {
        var status = AttachmentSyncStatus()
        /// Counts the changes.
        var version: UInt64 = 0
        var isOver = false
        /// Which way the files went that have failed.
        var failures: [String: TransferLane] = [:]
        /// Lanes that have had nothing to do: what is done next is counted from there.
        var resting = Set(TransferLane.allCases)
        /// Lanes in which nothing waited when that was counted last, while their last files were on their way.
        var ending: Set<TransferLane> = []

        func isIdle(_ lane: TransferLane) -> Bool {
            !status.transfers.contains { $0.kind == lane.kind }
        }
    }

    private let shown = AsyncValue(Shown())
    private let environment: SyncEnvironment

    init(_ environment: SyncEnvironment) { self.environment = environment }

    /// The status as it is now.
    var status: AttachmentSyncStatus { shown.current.status }

    /// Returns the status, and then that after each change, the newest alone for who is slow; ends with the queue.
    func updates() -> AsyncStream<AttachmentSyncStatus> {
        let told = Lock<(version: UInt64, at: Duration)?>(nil)
        return AsyncStream(unfolding: { [shown, environment] in
            let last = told.withLock { $0 }
            if let last {
                // Who is cancelled gets no more.
                guard let next = try? await shown.wait(until: { $0.version > last.version || $0.isOver }),
                    next.version > last.version
                else { return nil }
                let rest = last.at + Self.interval - environment.uptime()
                if rest > .zero, (try? await environment.sleep(rest)) == nil { return nil }
            }
            let now = shown.current
            told.withLock { $0 = (version: now.version, at: environment.uptime()) }
            return now.status
        })
    }

    // MARK: What happens

    /// Says how many files wait in each state, and how many bytes they have.
    func count(_ waiting: [WaitingFiles]) {
        change { shown in
            for lane in TransferLane.allCases {
                let found = waiting.first { $0.state == lane.state.rawValue }
                shown.status[lane].waitingFiles = found?.files ?? 0
                shown.status[lane].waitingBytes = found?.bytes ?? 0
                shown.ending.remove(lane)
                if found != nil { continue }
                if shown.isIdle(lane) { shown.resting.insert(lane) } else { shown.ending.insert(lane) }
            }
        }
    }

    /// Says that a transfer has begun.
    ///
    /// - Parameters:
    ///   - attachment: the attachment.
    ///   - lane: which way it goes.
    ///   - isOver: whether the run is over that it belongs to, whose transfers are not shown; must be quick.
    func began(_ attachment: Attachment, _ lane: TransferLane, unless isOver: () -> Bool = { false }) {
        change { shown in
            if isOver() { return }
            shown.ending.remove(lane)
            if shown.resting.remove(lane) != nil {
                shown.status[lane].doneFiles = 0
                shown.status[lane].doneBytes = 0
            }
            shown.status.transfers.append(
                AttachmentSyncStatus.Transfer(
                    id: attachment.id, kind: lane.kind,
                    bytes: AttachmentBytes(done: 0, total: lane == .delete ? nil : attachment.size)))
        }
    }

    /// Says how far a transfer is; of a run that is over it counts for nothing.
    func moved(_ id: String, _ bytes: AttachmentBytes, unless isOver: () -> Bool = { false }) {
        change { shown in
            if isOver() { return }
            guard let index = shown.status.transfers.firstIndex(where: { $0.id == id }) else { return }
            shown.status.transfers[index].bytes = bytes
        }
    }

    /// Says that a transfer is over.
    ///
    /// - Parameters:
    ///   - id: the id of the attachment.
    ///   - lane: which way it went.
    ///   - bytes: how many bytes are done; nil if it was not done.
    ///   - size: how many bytes were counted of it while it waited.
    ///   - isLast: whether nothing waits in the lane any more, as far as that is known.
    ///   - isOver: whether the run is over that it belongs to, as for ``began(_:_:unless:)``.
    func ended(
        _ id: String, _ lane: TransferLane, done bytes: Int64?, of size: Int64 = 0, isLast: Bool = false,
        unless isOver: () -> Bool = { false }
    ) {
        change { shown in
            if isOver() { return }
            shown.status.transfers.removeAll { $0.id == id && $0.kind == lane.kind }
            if isLast { shown.ending.insert(lane) }
            if shown.ending.contains(lane), shown.isIdle(lane) { shown.resting.insert(lane) }
            guard let bytes else { return }
            shown.status[lane].waitingFiles = isLast ? 0 : max(0, shown.status[lane].waitingFiles - 1)
            shown.status[lane].waitingBytes = isLast ? 0 : max(0, shown.status[lane].waitingBytes - size)
            shown.status[lane].doneFiles += 1
            shown.status[lane].doneBytes += bytes
            shown.status.errors[id] = nil
            shown.failures[id] = nil
        }
    }

    /// Says that a transfer failed.
    ///
    /// - Parameters:
    ///   - id: the id of the attachment.
    ///   - lane: which way it went.
    ///   - text: what it failed with.
    ///   - isOver: whether the run is over that it belongs to, as for ``began(_:_:unless:)``.
    /// - Returns: whether it is the first one that failed in its lane since the lane began a pass.
    func failed(
        _ id: String, _ lane: TransferLane, _ text: String, unless isOver: () -> Bool = { false }
    ) -> Bool {
        var isFirst = false
        change { shown in
            if isOver() { return }
            isFirst = !shown.failures.values.contains(lane)
            guard shown.failures.count < Self.mostErrors || shown.failures[id] != nil else { return }
            shown.status.errors[id] = text
            shown.failures[id] = lane
        }
        return isFirst
    }

    /// Says that a lane begins a pass: what has failed is tried again.
    func restarted(_ lane: TransferLane) {
        change { shown in
            for (id, failed) in shown.failures where failed == lane {
                shown.failures[id] = nil
                shown.status.errors[id] = nil
            }
        }
    }

    /// Says that nothing is transferred any more.
    func stopped() {
        change { $0.status.transfers = [] }
    }

    /// Ends all updates.
    func close() {
        shown.change { $0.isOver = true }
    }

    private func change(_ body: (inout Shown) -> Void) {
        shown.change { shown in
            let before = shown.status
            body(&shown)
            if shown.status != before { shown.version += 1 }
        }
    }
}
