/// How much is stored in one transaction, decided before it begins: much as a rule, little while the app writes, which
/// waits that long (SPEC.md, "Batches").
struct BatchPace: Sendable {
    /// Less is not worth a transaction of its own, however long that takes.
    static let fewestBytes = 64 << 10

    private let tuning: StorageTuning
    /// When the app was last seen to write.
    private var lastWrite: Duration?
    /// How many bytes share a transaction while the app writes.
    private var shortBytes: Int
    /// How many bytes share a transaction while it does not.
    private var longBytes: Int

    init(_ tuning: StorageTuning) {
        self.tuning = tuning
        shortBytes = min(tuning.firstBytes, tuning.batchBytes)
        longBytes = tuning.batchBytes
    }

    /// Notes that the app writes, or waits for it.
    ///
    /// - Parameter now: the time since some fixed moment.
    mutating func appWrites(at now: Duration) { lastWrite = now }

    /// Returns with how many bytes a batch is full.
    ///
    /// - Parameter now: the time since some fixed moment.
    /// - Returns: at least 1; the last line may go beyond.
    func limit(at now: Duration) -> Int { isShort(at: now) ? shortBytes : longBytes }

    /// Learns from a batch how much the next ones may have.
    ///
    /// - Parameters:
    ///   - bytes: what it had.
    ///   - hold: how long storing it kept others from writing.
    ///   - now: when its limit was asked for.
    mutating func stored(_ bytes: Int, in hold: Duration, limitedAt now: Duration) {
        if isShort(at: now) {
            shortBytes = next(to: shortBytes, bytes, hold, budget: tuning.hold)
        } else {
            longBytes = next(to: longBytes, bytes, hold, budget: tuning.longestHold)
        }
    }

    private func isShort(at now: Duration) -> Bool { lastWrite.map { now - $0 < tuning.quiet } ?? false }

    /// The bytes that fit into the budget at the speed of the last batch, at most twice as many as before.
    private func next(to limit: Int, _ bytes: Int, _ hold: Duration, budget: Duration) -> Int {
        // What a small batch takes goes into its beginning and its end, and tells nothing of a large one.
        guard hold > budget || bytes >= limit / 2 else { return limit }
        let most = min(2 * limit, tuning.batchBytes)
        let fitting = hold > .zero ? Double(bytes) * (budget / hold) : .infinity
        return max(min(Self.fewestBytes, most), Int(min(fitting, Double(most))))
    }
}
