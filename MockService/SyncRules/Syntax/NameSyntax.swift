import PowerSyncWire

/// A name as it is written.
package struct NameSyntax: Sendable, Hashable {
    /// The name that it means.
    package let text: ExactText
    /// Whether it is in quotes.
    package let isQuoted: Bool
    /// Whether it has capital letters that do not count, for want of quotes.
    package let isFolded: Bool
    /// The schema before it; nil if there is none, and for names that are not those of tables.
    package let schema: ExactText?
    /// Where it stands, in bytes of the SQL, with its quotes.
    package let range: Range<Int>

    /// Makes a name of its fields.
    package init(
        _ text: String, isQuoted: Bool = false, isFolded: Bool = false, schema: ExactText? = nil,
        range: Range<Int>
    ) {
        self.text = ExactText(text)
        self.schema = schema
        self.isQuoted = isQuoted
        self.isFolded = isFolded
        self.range = range
    }

    /// The same with a schema before it.
    func inSchema(_ schema: ExactText?) -> NameSyntax {
        NameSyntax(text.text, isQuoted: isQuoted, isFolded: isFolded, schema: schema, range: range)
    }
}
