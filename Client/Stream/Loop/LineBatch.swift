/// Data lines that wait, outside any transaction, for others to be stored with (SPEC.md, "Coalescing").
struct LineBatch {
    /// How long the first of them waits while more come.
    static let patience = Duration.milliseconds(250)
    /// However long storing takes, nothing waits longer.
    static let longestPatience = Duration.seconds(2)

    /// Many small lines take more memory than their bytes say.
    static let mostLines = 32_768

    private(set) var events: [SyncEvent] = []
    private(set) var bytes = 0
    private var since = Duration.zero
    private var seen = 0

    var isEmpty: Bool { events.isEmpty }

    /// Adds a line.
    ///
    /// - Parameters:
    ///   - event: the line.
    ///   - size: its bytes as received.
    ///   - now: the time since some fixed moment.
    mutating func append(_ event: SyncEvent, size: Int, now: Duration) {
        if events.isEmpty { since = now }
        events.append(event)
        bytes += size
    }

    /// Looks whether no more lines may wait.
    ///
    /// - Parameter limit: the most bytes.
    /// - Returns: whether there are so many bytes, or lines, already.
    func isFull(limit: Int) -> Bool { bytes >= limit || events.count >= Self.mostLines }

    /// Takes all lines out.
    mutating func take() -> [SyncEvent] {
        defer { self = LineBatch() }
        return events
    }

    /// Looks whether the lines have waited enough.
    ///
    /// - Parameters:
    ///   - now: the time since some fixed moment.
    ///   - cost: how long storing took the last time; waiting less than that would only slow everything down.
    /// - Returns: whether none came since the last look, or the first is too old.
    mutating func isDue(now: Duration, cost: Duration) -> Bool {
        defer { seen = bytes }
        return bytes == seen || now - since >= min(max(Self.patience, cost), Self.longestPatience)
    }
}
