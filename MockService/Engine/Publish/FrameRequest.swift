import PowerSyncWire

/// Asks for the operations of the next line of a bucket (service 3.4).
package struct FrameRequest: Sendable, Hashable {
    /// How many bytes of data a line has, unless one operation alone is larger (service 3.4); of a REMOVE its id counts.
    package static let lineBytes = 1 << 20

    /// The bucket's id in the state file.
    package let bucket: Int64
    /// The operation behind which to begin.
    ///
    /// It is the bucket's last operation as the stream knew it, if its position is not before that: so streams whose
    /// positions differ and mean the same ask for the same.
    package let after: OperationID
    /// The bucket's last operation at the checkpoint, and not that of others: it says whether there are more.
    package let last: OperationID
    /// At most that many operations; at least one.
    package let rows: Int
    /// At most that many bytes of data, and of ids of REMOVEs, unless one operation alone is larger.
    package let bytes: Int

    /// Makes a request of its fields.
    package init(bucket: Int64, after: OperationID, last: OperationID, rows: Int, bytes: Int) {
        precondition(rows > 0, "a line has operations")
        self.bucket = bucket
        self.after = after
        self.last = last
        self.rows = rows
        self.bytes = bytes
    }
}
