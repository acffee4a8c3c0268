/// Data lines that wait, outside any transaction, for others to be stored with (SPEC.md, "Batches").
struct LineBatch {
    /// How long the first of them waits while more come.
    static let patience = Duration.milliseconds(250)
    /// However long storing takes, nothing waits longer.
    static let longestPatience = Duration.seconds(2)

    /// Many small lines take more memory than their bytes say.
    static let mostLines = 32_768

    private(set) var lines: [StorableLine] = []
    private(set) var bytes = 0
    private var since = Duration.zero
    private var seen = 0

    var isEmpty: Bool { lines.isEmpty }

    /// Adds a line.
    ///
    /// - Parameters:
    ///   - line: the line.
    ///   - now: the time since some fixed moment.
    mutating func append(_ line: StorableLine, now: Duration) {
        if lines.isEmpty { since = now }
        lines.append(line)
        bytes += line.size
    }

    /// Looks whether no more lines may wait.
    ///
    /// - Parameter limit: the most bytes.
    /// - Returns: whether there are so many bytes, or lines, already.
    func isFull(limit: Int) -> Bool { bytes >= limit || lines.count >= Self.mostLines }

    /// Takes lines out, from the first one on.
    ///
    /// - Parameter limit: with how many bytes it is enough; the last line may go beyond.
    /// - Returns: as many lines as fill a batch, one at least, or all, and their bytes.
    mutating func take(limit: Int) -> (lines: [StorableLine], bytes: Int) {
        var (count, size) = (0, 0)
        while count < lines.count, count == 0 || size < limit && count < Self.mostLines {
            size += lines[count].size
            count += 1
        }
        if count == lines.count {
            defer { self = LineBatch() }
            return (lines, bytes)
        }
        defer {
            lines.removeFirst(count)
            bytes -= size
        }
        return (Array(lines[..<count]), size)
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
