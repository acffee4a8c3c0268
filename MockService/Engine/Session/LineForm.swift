/// How lines are sent; operations that many streams want in one form are made in it once (service 1.5, 1.7).
package struct LineForm: Sendable, Hashable {
    /// How lines are spelled.
    package enum Format: Sendable, Hashable, CaseIterable {
        /// JSON, in which the data of an operation is a text.
        case raw
        /// JSON, in which the data of an operation stands as it is stored.
        case nested
        /// BSON, in which the data of an operation is a text.
        case bson
    }

    /// The spelling.
    package let format: Format
    /// Whether it is a part of a gzip stream.
    package let isGzipped: Bool

    /// Makes a form.
    package init(_ format: Format, isGzipped: Bool = false) {
        self.format = format
        self.isGzipped = isGzipped
    }
}
