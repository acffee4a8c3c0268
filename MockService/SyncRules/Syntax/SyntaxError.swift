/// A query that is no SQL, or is over a limit.
package struct SyntaxError: Error, Sendable, Hashable {
    /// What it is: `sqlSyntax`, `sqlUnexpectedEnd`, `nestingTooDeep` or `tooLarge`.
    package let name: DiagnosticName
    /// What stands there, and what may; one line.
    package let message: String
    /// Where, in bytes of the SQL: the token, or the last one if the query ends too early.
    package let range: Range<Int>

    /// Makes an error of its fields.
    package init(_ name: DiagnosticName, _ message: String, at range: Range<Int>) {
        self.name = name
        self.message = message
        self.range = range
    }
}
