import PowerSyncWire

/// A sync configuration that was read, checked and compiled.
package struct CompiledSyncConfig: Sendable {
    /// The streams in the order of the text.
    package let streams: [CompiledStream]
    /// The bucket sources that the streams use; streams with the same rows share one (service 5).
    package let sources: [BucketSource]
    /// How values are converted.
    package let conversion: ConversionOptions
}

/// One stream of the configuration.
package struct CompiledStream: Sendable {
    /// Its name.
    package let name: String
    /// Whether clients get it without asking.
    package let isDefault: Bool
    /// 0 to 3, 0 is the most urgent.
    package let priority: Int
    /// The ways in which a request gets buckets of it.
    package let variants: [StreamVariant]
}

/// One way in which a request gets a bucket: all of it depends on the request alone.
package struct StreamVariant: Sendable, Hashable {
    /// Index into the configuration's sources.
    package let source: Int
    /// What must hold for the request to get the bucket.
    package let gates: [Expression]
    /// The values of the bucket's name; each position may name several that must agree.
    package let keys: [[Expression]]
}

/// Rows that form buckets of one kind.
package struct BucketSource: Sendable, Hashable {
    /// The part of a bucket's name before its values, such as `todos|0`.
    package let name: String
    /// What puts rows into the buckets.
    package let processors: [RowProcessor]
}

/// Puts rows of one table into buckets.
package struct RowProcessor: Sendable, Hashable {
    /// What a row looks like on the client.
    package enum Output: Sendable, Hashable {
        /// All columns of the row.
        case allColumns
        /// One value under a name.
        case column(Expression, name: ExactText)
    }

    /// The schema of the table.
    package let schema: ExactText
    /// The table.
    package let table: ExactText
    /// What the client's table is called.
    package let outputTable: ExactText
    /// The client's columns.
    package let outputs: [Output]
    /// What must hold for a row.
    package let filters: [Expression]
    /// The values that choose the bucket.
    package let partitionKeys: [Expression]
}
