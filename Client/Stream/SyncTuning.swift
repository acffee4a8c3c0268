/// How much of what comes is stored at once, and by which way; what is stored in the end is the same.
package struct SyncTuning: Sendable {
    /// The most bytes of data lines that share a transaction; 0 gives each line a transaction of its own.
    package var coalescedBytes: Int
    /// Whether rows are stored in the order of their keys, and a database without rows is filled in bulk.
    package var usesFastPaths: Bool
    /// From how many changed rows on they may be published by one walk over all operations.
    package var walkedRows = 1000

    /// Makes a tuning of its parts.
    package init(coalescedBytes: Int, usesFastPaths: Bool) {
        self.coalescedBytes = coalescedBytes
        self.usesFastPaths = usesFastPaths
    }

    /// What ships.
    package static let standard = SyncTuning(coalescedBytes: 32 << 20, usesFastPaths: true)
    /// One line, one transaction, one operation after the other: what the official core does.
    package static let plain = SyncTuning(coalescedBytes: 0, usesFastPaths: false)
}
