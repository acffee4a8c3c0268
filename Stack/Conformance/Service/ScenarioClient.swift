import PowerSyncWire

/// One client of a scenario: its stream, and what it knows after the recorded and after the received lines.
struct ScenarioClient {
    /// How it was opened.
    let opening: RecordedOpening
    /// Its stream.
    let stream: ReceivedStream
    /// When it was opened.
    let opened = ContinuousClock.now
    /// After the recorded lines.
    var recorded: SyncStreamState
    /// After the lines of the service under test.
    var received: SyncStreamState
    /// All lines that were received.
    private(set) var lines: [JSON] = []
    /// How many of them were compared.
    var comparedLines = 0
    /// Whether the stream has ended, or was closed, and that was seen to.
    var isGone = false
    /// How many checkpoints had changed contents when it settled last; nil if it never did.
    var settledChanges: (recorded: Int, received: Int)?

    /// Makes the client of an opening, and the request with the positions that the service under test gave.
    ///
    /// - Parameters:
    ///   - opening: what was recorded.
    ///   - former: the client whose positions it takes over.
    ///   - open: opens a stream with a body.
    /// - Throws: what `open` throws.
    init(
        _ opening: RecordedOpening, former: ScenarioClient?, open: (JSON) throws -> ReceivedStream
    ) rethrows {
        self.opening = opening
        recorded = SyncStreamState(isRecorded: true)
        received = SyncStreamState(isRecorded: false)
        var buckets: [JSON] = []
        for bucket in opening.sent["buckets"]?.arrayValue ?? [] {
            let name = bucket["name"]?.stringValue ?? ""
            let label = BucketLabel(name)
            let after = bucket["after"]?.stringValue.flatMap { Int64($0) } ?? 0
            recorded.begin(name, at: after, from: former?.recorded.reached(label.text))
            guard opening.positionsOf != nil else {
                received.begin(name, at: after, from: nil)
                buckets.append(bucket)
                continue
            }
            // What was not reached here would be a difference of the former client.
            guard let reached = former?.received.reached(label.text),
                let name = former?.received.names[label.text]
            else { continue }
            let position = reached.position + opening.positionsAdd
            received.begin(name, at: position, from: reached)
            buckets.append(
                .object([
                    JSONMember("name", .string(name)), JSONMember("after", .string(String(position))),
                ]))
        }
        let others = (opening.sent.objectMembers ?? []).filter { $0.name != "buckets" }
        let hasBuckets = opening.sent["buckets"] != nil
        stream = try open(.object(others + (hasBuckets ? [JSONMember("buckets", .array(buckets))] : [])))
    }

    /// Takes what has come.
    mutating func drain() {
        received.response = stream.response
        received.types = stream.types
        for line in stream.takeLines() {
            lines.append(line)
            received.apply(line)
        }
    }

    /// Takes what was recorded.
    mutating func apply(_ recording: RecordedLines) {
        if let response = recording.response { recorded.response = response }
        for line in recording.lines { recorded.apply(line) }
        recorded.types.add(recording.types)
    }

    /// Whether its first checkpoint was completed, or its answer is there.
    var hasFirstAnswer: Bool { received.completions > 0 || stream.end != nil }

    /// How its stream ended although the recorded one went on; nil if it goes on, or need not.
    var earlyEnd: String? {
        // Of an answer that is no stream the head is compared.
        guard let end = stream.end, recorded.response?.status == 200, recorded.tokenSeconds.last != 0 else {
            return nil
        }
        let reason = stream.reason.isEmpty ? "" : ": \(stream.reason)"
        return "its stream ended (\(end.rawValue)), the recorded one did not\(reason)"
    }

    /// Tells of a transaction that came in more than one checkpoint, and remembers what has come.
    ///
    /// - Parameter transactions: how many there were since the last time.
    /// - Returns: what is wrong; nil if nothing is.
    mutating func settle(after transactions: Int) -> String? {
        let former = settledChanges
        settledChanges = (recorded.changes, received.changes)
        guard let former else { return nil }
        let changes = received.changes - former.received
        // A change of the schema may take more checkpoints than one.
        guard changes > max(transactions, recorded.changes - former.recorded) else { return nil }
        return "\(changes) checkpoints changed its buckets, and there were \(transactions) transactions: "
            + "one is torn"
    }

    /// What it has seen, for messages.
    var progress: String {
        let end = stream.end.map { ", ended (\($0.rawValue)) \(stream.reason)" } ?? ""
        let last = lines.last.map { ", the last: \($0.text.prefix(200))" } ?? ""
        return "\(opening.client): status \(stream.response.map { String($0.status) } ?? "none"), "
            + "\(lines.count) lines\(last)\(end)"
    }
}
