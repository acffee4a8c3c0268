import PowerSyncTestSupport

/// What one connection to the modelled service is sent.
struct ServiceStream {
    /// The parameters of the subscriptions of the request, in its order.
    let subscriptions: [String]
    private var positions: [String: Int64]
    private var listed: [String: UInt32]?
    private var counts: [String: Int] = [:]
    /// The rest of the lines of the last checkpoint, the next one at the end.
    private var plan: [ServiceLine] = []
    private var sent: [ServiceLine] = []
    /// The operation up to which the last checkpoint went.
    private(set) var last: Int64 = 0

    init(positions: [String: Int64], subscriptions: [String]) {
        self.positions = positions
        self.subscriptions = subscriptions
    }

    var isIdle: Bool { plan.isEmpty }

    /// Whether a new checkpoint would say something new.
    func isBehind(_ service: ServiceModel, _ writeCheckpoint: Int64?) -> Bool {
        guard let listed else { return true }
        let offered = service.offered(subscriptions)
        return last < service.head || offered.count != listed.count
            || offered.contains { listed[$0.name] != $0.checksum }
            || writeCheckpoint != service.writeCheckpoint
    }

    /// Returns the next line of the checkpoint, nil when all of it was sent.
    mutating func next(_ random: inout SeededRandom, isCalm: Bool) -> ServiceLine? {
        guard var line = plan.popLast() else { return nil }
        if case .data(let bucket, var operations) = line {
            if let end = operations.last?.id { positions[bucket] = max(positions[bucket] ?? 0, end) }
            if !isCalm, random.once(in: 40), !operations.isEmpty {
                // Damage: an operation is lost or another one than the checkpoint counts.
                let index = random.below(operations.count)
                if random.once(in: 2) {
                    operations.remove(at: index)
                } else {
                    let old = operations[index]
                    operations[index] = ServiceModel.Operation(
                        id: old.id, kind: old.kind, row: old.row, subkey: old.subkey, content: old.content,
                        checksum: old.checksum ^ 1)
                }
                line = .data(bucket: bucket, operations)
            }
            sent.append(line)
        }
        return line
    }

    /// Returns a data line that was sent before, to be sent again.
    mutating func repeated(_ random: inout SeededRandom) -> ServiceLine? {
        sent.isEmpty ? nil : random.pick(sent.suffix(4))
    }

    /// Makes a checkpoint of what the service holds now; whatever the last one still had to send is dropped.
    mutating func checkpoint(
        _ service: ServiceModel, _ random: inout SeededRandom, isCalm: Bool
    ) -> ServiceLine {
        let offered = service.offered(subscriptions)
        let truth = service.rows(subscriptions)
        last = max(last, service.head)
        let writeCheckpoint = !isCalm && random.once(in: 12) ? nil : service.writeCheckpoint
        let entries = offered.map { bucket in
            let reference: ServiceLine.Reference? =
                bucket.parameters == nil
                ? .defaultStream(0)
                : bucket.parameters.flatMap { subscriptions.firstIndex(of: $0) }.map { .subscription($0) }
            return ServiceLine.Bucket(
                name: bucket.name, checksum: bucket.checksum,
                count: !isCalm && random.once(in: 40) ? nil : bucket.operations.count,
                priority: bucket.priority, reference: reference)
        }
        // A bucket that is dropped starts over when it comes back.
        positions = positions.filter { entry in offered.contains { $0.name == entry.key } }
        sent = sent.filter { line in
            guard case .data(let bucket, _) = line else { return false }
            return offered.contains { $0.name == bucket }
        }
        plan = makePlan(offered, &random).reversed()
        defer {
            listed = Dictionary(uniqueKeysWithValues: entries.map { ($0.name, $0.checksum) })
            counts = Dictionary(uniqueKeysWithValues: offered.map { ($0.name, $0.operations.count) })
        }
        if let listed, !random.once(in: 5) {
            return .diff(
                last: last, writeCheckpoint: writeCheckpoint,
                updated: entries.filter { listed[$0.name] != $0.checksum || counts[$0.name] != $0.count },
                removed: listed.keys.filter { name in !entries.contains { $0.name == name } }.sorted(),
                truth: truth)
        }
        var streams = [ServiceLine.Stream(name: "main", isDefault: true)]
        if !subscriptions.isEmpty {
            streams.append(ServiceLine.Stream(name: ServiceModel.explicitStream, isDefault: false))
        }
        return .checkpoint(
            last: last, writeCheckpoint: writeCheckpoint, buckets: entries, streams: streams, truth: truth)
    }

    /// The lines behind a checkpoint (client-core 5.6): what is missing by priority, each closed by its line.
    private func makePlan(_ offered: [ServiceModel.Bucket], _ random: inout SeededRandom) -> [ServiceLine] {
        var groups: [Int: [ServiceLine]] = [:]
        for bucket in offered {
            let after = positions[bucket.name] ?? 0
            var missing = bucket.operations.filter { $0.id > after }[...]
            guard !missing.isEmpty else { continue }
            // As the real service does where two queries name one bucket: each operation comes twice.
            if random.once(in: 6) { missing = missing.flatMap { [$0, $0] }[...] }
            // A request may be answered from a little before its position.
            if random.once(in: 8), let old = bucket.operations.last(where: { $0.id <= after }) {
                missing.insert(old, at: missing.startIndex)
            }
            while !missing.isEmpty {
                let line = missing.prefix(1 + random.below(4))
                missing = missing.dropFirst(line.count)
                groups[bucket.effectivePriority, default: []].append(
                    .data(bucket: bucket.name, Array(line)))
            }
            if random.once(in: 10) {
                groups[bucket.effectivePriority, default: []].append(.data(bucket: bucket.name, []))
            }
        }
        var lines: [ServiceLine] = []
        for (index, priority) in groups.keys.sorted().enumerated() {
            lines += groups[priority] ?? []
            if index < groups.count - 1 { lines.append(.partial(last, priority: priority)) }
        }
        return lines + [.complete(last)]
    }
}
