import PowerSyncWire

/// What a batch of changes comes to, as far as it can be said without the store.
///
/// Where a row was before, and so its REMOVEs, the store knows alone.
package struct EvaluatedBatch: Sendable {
    /// A change of a row.
    package struct Row: Sendable, Hashable {
        /// What became of the row.
        package var kind: ChangeBatch.Change.Kind
        /// Index into the batch's tables.
        package var table: Int
        /// Where the key of the row lies; nil if it is gone.
        package var key: Range<Int>?
        /// Where the key lies that the row had before: of a delete, and of an update that changed it.
        package var oldKey: Range<Int>?
        /// The operations of the row, a PUT for each place; none if it is in no bucket, or waits.
        package var operations: Range<Int>
        /// The keys by which it is found; none if nothing finds it, or it waits.
        package var lookups = 0..<0
        /// The write checkpoints that it sets; none if it waits.
        package var writeCheckpoints = 0..<0
        /// Where its `LargeCells` lie; nil unless the row is reason enough to keep them without what is kept: it is synced
        /// and large, or was read again, or is too large.
        package var large: Range<Int>?
        /// Whether it has too many bytes to be synced: of its large values there are lengths.
        package var isTooLarge = false
        /// Whether a large value was left out.
        ///
        /// Of a row that does not wait no program has read it. What is kept of the row is of before, beside values that are
        /// told: it is filled in as for a row that waits, or it goes.
        package var hasMissingValues = false

        /// Whether the row is in a bucket, or something finds it.
        package var isStored: Bool { !operations.isEmpty || !lookups.isEmpty }
    }

    /// A PUT.
    package struct Operation: Sendable, Hashable {
        /// Index into `buckets`.
        package let bucket: Int
        /// The client's table, by its id in `output_type`.
        package let type: Int64
        /// Where the client's id lies.
        package let id: Range<Int>
        /// Where the record lies, as a segment has it behind id and kind; operations of a row may share it.
        package let record: Range<Int>
        /// Its share of the bucket's checksum.
        package let checksum: Checksum
    }

    /// A key of a lookup by which a row is found; a row has each key of a definition once.
    package struct Lookup: Sendable, Hashable {
        /// The id in `lookup_definition`.
        package let definition: Int64
        /// Where the key lies, as `LookupValues` packs it.
        package let key: Range<Int>
        /// Where its value lies, which is not empty.
        package let value: Range<Int>

        /// Makes a lookup of its fields.
        package init(definition: Int64, key: Range<Int>, value: Range<Int>) {
            self.definition = definition
            self.key = key
            self.value = value
        }
    }

    /// Keys, names of buckets, records, large cells.
    package var bytes: [UInt8] = []
    /// One for each change, in their order.
    package var rows: [Row] = []
    /// The operations of all rows in order.
    package var operations: [Operation] = []
    /// What all rows are found by, in order.
    package var lookups: [Lookup] = []
    /// The write checkpoints that all rows set, in order.
    package var writeCheckpoints: [CustomWriteCheckpoint] = []
    /// Where the names of buckets lie, without the prefix of the replication stream; each name once.
    package var buckets: [Range<Int>] = []
    /// The rows of which a value is needed that was left out: the store has it, or it is read again from the source.
    package var waiting: [Int] = []
    /// What an operator should know; of rows that wait it is said when they are evaluated again.
    package var warnings = RowWarnings()
    /// What is told beside the rows: each with the index of the row that follows it, in order.
    package var marks: [(before: Int, mark: ChangeBatch.Mark)] = []
    /// The tables that rows and marks name.
    package var tables: [TablePlan] = []
    /// Whether the rows were read from the source, and so are newer than the log.
    package var isAhead = false
    /// The changes, if a row may have to be evaluated again with what the store has of it, or be read again; else nil.
    package var source: ChangeBatch?

    /// Makes an empty batch.
    package init() {}

    /// About how many bytes of memory it takes beside its changes: an element of an array may bring all of its row once more.
    package var byteCount: Int {
        bytes.count + operations.count * MemoryLayout<Operation>.stride
            + lookups.count * MemoryLayout<Lookup>.stride
    }
}
