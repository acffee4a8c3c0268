import PowerSyncWire

/// A bucket at a checkpoint (service 4.3).
package struct BucketTotals: Sendable, Hashable {
    /// Its id in the state file; nil as long as no row was in it.
    package var id: Int64?
    /// The sum of its operations' checksums.
    package var checksum: Checksum
    /// How many operations it holds.
    package var count: Int64
    /// Its last operation; 0 without one.
    package var lastOperation: OperationID

    /// A bucket without rows.
    package static let empty = BucketTotals(id: nil, checksum: .zero, count: 0, lastOperation: 0)

    /// Makes totals of their fields.
    package init(id: Int64?, checksum: Checksum, count: Int64, lastOperation: OperationID) {
        self.id = id
        self.checksum = checksum
        self.count = count
        self.lastOperation = lastOperation
    }
}

/// What the row of a bucket says of its operations: one sum over those that a checkpoint covers, one over those behind
/// it (DESIGN.md, 1).
///
/// A checkpoint that is published changes no bucket, and nothing is summed up to read one. Whoever writes to a bucket
/// first makes one sum of both if the checkpoint has reached the second one meanwhile.
package struct BucketSums: Sendable, Hashable {
    /// A sum over operations.
    package struct Sum: Sendable, Hashable {
        /// The sum of their checksums.
        package var checksum = Checksum.zero
        /// How many there are.
        package var count: Int64 = 0
        /// The last one; 0 without one.
        package var lastOperation: OperationID = 0

        /// That of no operation.
        package init() {}

        /// Reads a sum.
        ///
        /// - Parameters:
        ///   - checksum: The sum of checksums, from 0 to 2³² − 1.
        ///   - count: How many operations.
        ///   - lastOperation: The last one.
        /// - Throws: `StoreError` if these are none of a sum.
        package init(checksum: Int64, count: Int64, lastOperation: OperationID) throws(StoreError) {
            // Half of what 64 bits hold, so that sums of two fit.
            let numbers = 0...SegmentBody.largestID
            guard let checksum = UInt32(exactly: checksum), numbers.contains(count),
                numbers.contains(lastOperation)
            else { throw .unreadableRow }
            self.checksum = Checksum(checksum)
            self.count = count
            self.lastOperation = lastOperation
        }

        /// Adds operations that come behind.
        static func + (left: Sum, right: Sum) -> Sum {
            var sum = left
            sum.checksum += right.checksum
            sum.count += right.count
            sum.lastOperation = max(left.lastOperation, right.lastOperation)
            return sum
        }
    }

    /// The bucket's id in the state file.
    package let id: Int64
    /// Over the operations that a checkpoint covers.
    package private(set) var covered: Sum
    /// Over the operations that none covered when the bucket was written to.
    package private(set) var tail: Sum

    /// Makes the sums of a bucket; by default of one without operations.
    package init(id: Int64, covered: Sum = Sum(), tail: Sum = Sum()) {
        self.id = id
        self.covered = covered
        self.tail = tail
    }

    /// Returns the bucket at the newest checkpoint of its stream.
    ///
    /// - Parameter checkpoint: The last operation of the checkpoint, read in one SQLite snapshot with the sums.
    /// - Returns: The totals.
    package func totals(at checkpoint: OperationID) -> BucketTotals {
        let sum = tail.lastOperation <= checkpoint ? covered + tail : covered
        return BucketTotals(
            id: id, checksum: sum.checksum, count: sum.count, lastOperation: sum.lastOperation)
    }

    /// Adds one operation.
    ///
    /// - Parameters:
    ///   - checksum: Its share of the checksum.
    ///   - id: The operation, behind all that are in the bucket.
    ///   - checkpoint: The last operation that is published, or will be with the transaction that the operation is
    ///     written in: that of a commit before it which becomes visible. What the sum behind holds is covered if it
    ///     ends there.
    package mutating func add(_ checksum: Checksum, id: OperationID, checkpoint: OperationID) {
        if tail.lastOperation <= checkpoint {
            covered = covered + tail
            tail = Sum()
        }
        tail.checksum += checksum
        tail.count += 1
        tail.lastOperation = id
    }
}
