import PowerSyncPostgresValues

/// Where the rows of a source table lie and what their columns are (service 7.5, 7.7).
///
/// An update leaves out large values that did not change. The state stands in with those it knows, which is right only as
/// long as nothing else has changed them: a table that was rewritten, or whose columns changed, sends no rows.
package struct TableLayout: Sendable, Hashable {
    /// The file of the table and its columns, as the catalog has them.
    package let text: String
    /// The position of the log when the catalog was read.
    ///
    /// The catalog is ahead of the stream: rows that the stream tells up to here may be of a layout before.
    package let seenAt: LSN

    /// Makes a layout of its parts.
    package init(text: String, seenAt: LSN) {
        self.text = text
        self.seenAt = seenAt
    }

    /// A layout as the state counts them.
    package struct Version: Sendable, Hashable {
        /// How often the layout has changed.
        package let shape: Int64
        /// The position of the log when it was seen first.
        package let since: LSN

        /// Makes a version; by default the one of a table of which no layout is known.
        package init(shape: Int64 = 0, since: LSN = .zero) {
            self.shape = shape
            self.since = since
        }
    }
}
