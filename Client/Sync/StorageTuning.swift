/// How much of what comes is stored at once, and by which way; what is stored in the end is the same.
package struct StorageTuning: Sendable {
    /// The most bytes of data lines that share a transaction.
    package var batchBytes = 32 << 20
    /// How long storing data lines may keep the app from writing, while it writes.
    ///
    /// Shorter batches dirty more pages for each row: while 300,000 rows come and the app writes every 100 ms, a first sync
    /// takes 3.1 × the bare loop with 50 ms, 2.1 × with 100, 1.6 × with 250, 1.4 × with 500; half of the app's writes take
    /// at most 47, 66, 120 and 185 ms.
    package var hold = Duration.milliseconds(100)
    /// How long storing data lines may keep the app from writing, while it does not write.
    package var longestHold = Duration.seconds(1)
    /// How long the app is expected to write again after it has written.
    package var quiet = Duration.seconds(2)
    /// How many bytes share a transaction while the app writes, before it is known how long storing them takes.
    package var firstBytes = 1 << 20
    /// From how many changed rows on they may be applied by one scan over all operations; `.max` for never.
    package var scannedRows = 1000

    /// Makes the tuning that ships.
    package init() {}

    /// What ships.
    package static let standard = StorageTuning()
}
