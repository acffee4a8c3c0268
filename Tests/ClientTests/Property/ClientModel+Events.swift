/// Events of an iteration (client-core 6.4 to 6.9).
extension ClientModel {
    mutating func start(active: [Subscription.Key], now: Int64) {
        iteration = .before(known: buckets.map(\.name))
        pending = nil
        progress = nil
        prolong(active, now)
        requested = purged(active, now)
    }

    mutating func receive(
        _ line: ServiceLine, size: Int, active: [Subscription.Key], now: Int64
    ) -> Outcome {
        switch line {
        case .checkpoint(let last, let writeCheckpoint, let buckets, let streams, let truth):
            let new = Tracked(
                last: last, writeCheckpoint: writeCheckpoint,
                buckets: Dictionary(uniqueKeysWithValues: buckets.map { ($0.name, $0) }), streams: streams,
                truth: truth)
            let known: [String]
            switch iteration {
            case .idle: known = []
            case .before(let names): known = names
            case .tracking(let tracked): known = Array(tracked.buckets.keys)
            }
            track(new, dropping: known.filter { new.buckets[$0] == nil }, now)
        case .diff(let last, let writeCheckpoint, let updated, let removed, let truth):
            guard case .tracking(var tracked) = iteration else { return .nothing }
            tracked.last = last
            tracked.writeCheckpoint = writeCheckpoint
            tracked.truth = truth
            for name in removed { tracked.buckets[name] = nil }
            for bucket in updated { tracked.buckets[bucket.name] = bucket }
            track(tracked, dropping: removed, now)
        case .data(let bucket, let operations): store(bucket, operations, size: size)
        case .complete:
            guard case .tracking(let tracked) = iteration else { return .nothing }
            guard let outcome = apply(tracked, priority: nil, now: now) else {
                pending = tracked
                return .nothing
            }
            if outcome == .mismatch { end() }
            return outcome
        case .partial(_, let priority):
            guard case .tracking(let tracked) = iteration else { return .nothing }
            let outcome = apply(tracked, priority: priority, now: now) ?? .nothing
            if outcome == .mismatch { end() }
            return outcome
        case .keepalive(let seconds):
            prolong(active, now)
            if seconds > 30 { return rebuild(active, now) }
            if seconds <= 0 {
                end()
                return .closed
            }
        case .unknown: break
        }
        return .nothing
    }

    mutating func subscriptionsChanged(active: [Subscription.Key], now: Int64) -> Outcome {
        prolong(active, now)
        return rebuild(active, now)
    }

    /// Client-core 6.8.
    mutating func uploadCompleted(now: Int64) -> Outcome {
        guard let tracked = pending else { return .nothing }
        pending = nil
        // An absent write checkpoint is below any target, and no target below any write checkpoint.
        if let target, tracked.writeCheckpoint.map({ $0 < target }) ?? true { return .nothing }
        let outcome = apply(tracked, priority: nil, now: now) ?? .nothing
        // A mismatch is noticed here, but the stream stays open: the next checkpoint closes it.
        return outcome == .mismatch ? .nothing : outcome
    }

    mutating func end() {
        iteration = .idle
        pending = nil
        progress = nil
    }

    private mutating func track(_ new: Tracked, dropping names: [String], _ now: Int64) {
        delete(names)
        iteration = .tracking(new)
        pending = nil
        let here = buckets.filter { new.buckets[$0.name] != nil }
        let shrank = here.contains {
            new.buckets[$0.name]?.count ?? 0 < $0.countAtLast + $0.countSinceLast
        }
        if shrank {
            for index in buckets.indices {
                buckets[index].countAtLast = 0
                buckets[index].countSinceLast = 0
            }
        }
        var progress: [Int: (total: Int, downloaded: Int)] = [:]
        for bucket in new.buckets.values {
            let local = buckets.first { $0.name == bucket.name }
            let before = progress[bucket.effectivePriority] ?? (0, 0)
            progress[bucket.effectivePriority] = (
                before.total + (bucket.count ?? 0) - (local?.countAtLast ?? 0),
                before.downloaded + (local?.countSinceLast ?? 0)
            )
        }
        self.progress = progress
        reconcile(new)
    }
}
