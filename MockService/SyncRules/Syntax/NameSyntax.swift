import PowerSyncWire

/// A name as it is written.
package struct NameSyntax: Sendable, Hashable {
    /// The name that it means.
    package let text: ExactText
    /// Whether it is in quotes.
    package let isQuoted: Bool
    /// Whether it has capital letters that do not count, for want of quotes.
    package let isFolded: Bool
    /// Where it stands, in bytes of the SQL, with its quotes.
    package let range: Range<Int>

    /// Makes a name of its fields.
    package init(_ text: String, isQuoted: Bool = false, isFolded: Bool = false, range: Range<Int>) {
        self.text = ExactText(text)
        self.isQuoted = isQuoted
        self.isFolded = isFolded
        self.range = range
    }
}
