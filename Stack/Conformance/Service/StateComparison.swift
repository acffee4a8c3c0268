import PowerSyncWire

/// Tells where what a client got differs from what it got of the real service (Tests/Fixtures/service/README.md,
/// Comparing).
package struct StateComparison {
    private let recorded: SyncStreamState
    private let received: SyncStreamState
    private let firstNumbers: (recorded: Int?, received: Int?)

    /// How many things were compared that could differ.
    package private(set) var compared = 0
    /// The differences, one text each, in a fixed order.
    package private(set) var differences: [String] = []

    /// Compares two states of one client.
    ///
    /// - Parameters:
    ///   - recorded: after the recorded lines.
    ///   - received: after the lines of the service under test.
    ///   - firstNumbers: the first number in front of a bucket's name in the scenario, on each side.
    package init(
        recorded: SyncStreamState, received: SyncStreamState,
        firstNumbers: (recorded: Int?, received: Int?) = (nil, nil)
    ) {
        self.recorded = recorded
        self.received = received
        self.firstNumbers = firstNumbers
        compare()
    }

    private mutating func compare() {
        if let head = recorded.response {
            if let other = received.response {
                differences += head.differences(from: other, withLength: false)
            } else {
                differences.append("no answer, recorded status \(head.status)")
            }
        }
        if recorded.isComplete != received.isComplete {
            differences.append(
                recorded.isComplete
                    ? "the last checkpoint was not completed"
                    : "the last checkpoint was completed, recorded not")
        }
        if recorded.writeCheckpoint != nil { compared += 1 }
        if recorded.writeCheckpoint != received.writeCheckpoint {
            differences.append(
                "write checkpoint \(received.writeCheckpoint ?? "none"), "
                    + "recorded \(recorded.writeCheckpoint ?? "none")")
        }
        streams()
        buckets()
        differences += recorded.types.differences(from: received.types)
        differences += received.broken
    }

    private mutating func streams() {
        let old = recorded.streams.map(Self.text)
        let new = received.streams.map(Self.text)
        if old != new { differences.append("streams:" + Self.lines(old, new)) }
    }

    private static func text(_ stream: SyncStreamState.Stream) -> ExactText {
        let name = stream.name + (stream.isDefault ? " (default)" : "")
        return ExactText(([name] + stream.errors).joined(separator: " "))
    }

    private mutating func buckets() {
        let (old, new) = (recorded.listed, received.listed)
        let (oldContents, newContents) = (recorded.held, received.held)
        for label in Set(old.keys).union(new.keys).sorted() {
            guard let was = old[label] else {
                differences.append("bucket \(label) is listed, recorded not")
                continue
            }
            guard let now = new[label] else {
                differences.append("bucket \(label) is not listed")
                continue
            }
            compared += 1
            terms(label, was, now)
            number(label, was, now)
            if let was = oldContents[label], let now = newContents[label] { rows(label, was, now) }
            checksum(label, was, now)
        }
    }

    private mutating func terms(
        _ label: ExactText, _ was: SyncStreamState.Listing, _ now: SyncStreamState.Listing
    ) {
        let expected = was.terms
        // A service may tell new reasons at once, the real one tells them with the next content (3.14 D3).
        let possible = [now.terms, now.settledTerms]
        if possible.contains(where: { $0.priority == expected.priority && agree($0, expected, label) }) {
            return
        }
        if now.terms.priority != expected.priority {
            differences.append(
                "bucket \(label): priority \(now.terms.priority), recorded \(expected.priority)")
        }
        if !agree(now.terms, expected, label) {
            differences.append(
                "bucket \(label): reasons:"
                    + Self.lines(expected.reasons.sorted(), now.terms.reasons.sorted()))
        }
    }

    /// Whether reasons are equal; the real service names the stream of the bucket's name where another is the reason
    /// (3.14 D2).
    private func agree(
        _ now: SyncStreamState.Terms, _ was: SyncStreamState.Terms, _ label: ExactText
    ) -> Bool {
        let (old, new) = (Set(was.reasons), Set(now.reasons))
        if old == new { return true }
        let misnamed = ExactText("default \(BucketLabel.stream(label))")
        let defaults = received.streams.filter(\.isDefault).map { ExactText("default \($0.name)") }
        let added = new.subtracting(old)
        guard old.contains(misnamed), old.subtracting(new).isSubset(of: [misnamed]),
            !added.isEmpty, added.isSubset(of: defaults)
        else { return false }
        // A name for another one, and none more.
        return was.defaultCount == now.defaultCount
    }

    /// Compares by how much the number in front of the name has risen.
    private mutating func number(
        _ label: ExactText, _ was: SyncStreamState.Listing, _ now: SyncStreamState.Listing
    ) {
        guard let first = firstNumbers.recorded, let number = BucketLabel(was.name).number else { return }
        let rise = number - first
        let other = zip(BucketLabel(now.name).number, firstNumbers.received).map { $0 - $1 }
        if rise != other {
            differences.append(
                "bucket \(label): the number in front of its name has risen by "
                    + "\(other.map(String.init) ?? "nothing, there is none"), recorded by \(rise)")
        }
    }

    private func zip(_ left: Int?, _ right: Int?) -> (Int, Int)? {
        guard let left, let right else { return nil }
        return (left, right)
    }

    private mutating func rows(_ label: ExactText, _ was: SyncedBucket, _ now: SyncedBucket) {
        let (old, new) = (was.texts, now.texts)
        let names = Set(old.keys).union(new.keys).sorted { $0.description < $1.description }
        for name in names where old[name] != new[name] {
            let title =
                if new[name] == nil { "is missing" } else if old[name] == nil { "was not recorded" } else {
                    "differs"
                }
            differences.append(
                "bucket \(label): row \(name) \(title):"
                    + Self.lines((old[name] ?? []).sorted(), (new[name] ?? []).sorted()))
        }
    }

    private mutating func checksum(
        _ label: ExactText, _ was: SyncStreamState.Listing, _ now: SyncStreamState.Listing
    ) {
        if received.unfit.contains(label), !recorded.unfit.contains(label) {
            differences.append("bucket \(label): its checksum is not the sum of the operations sent")
        }
        guard let old = recorded.held[label], let new = received.held[label], old.isWhole, old.hasOnlyPuts,
            new.isWhole, new.hasOnlyPuts
        else { return }
        // Checksums of other operations hold ids of source tables.
        if was.checksum != now.checksum {
            differences.append(
                "bucket \(label): checksum \(now.checksum.signed), recorded \(was.checksum.signed)")
        }
    }

    /// Lines with - for what was recorded alone, with + for what was received alone; of the same in another order all.
    private static func lines(_ recorded: [ExactText], _ received: [ExactText]) -> String {
        var gone = recorded.filter { !received.contains($0) }
        var come = received.filter { !recorded.contains($0) }
        if gone.isEmpty, come.isEmpty { (gone, come) = (recorded, received) }
        return
            (gone.map { "\n    - " + $0.text.prefix(1000) } + come.map { "\n    + " + $0.text.prefix(1000) })
            .joined()
    }
}
