/// An expression that has no value for this row or request; the row or subscription is left out.
package struct EvaluationError: Error, Sendable, Hashable {
    /// What cannot be computed; holds no values but where the real service's own text has one (service 3.6).
    package let message: String
    /// Whether the message has a text in it, or a place of one: who brought the text is told it, and nobody else.
    package let isOfText: Bool

    /// Makes an error of its message.
    package init(message: String, isOfText: Bool = false) {
        self.message = message
        self.isOfText = isOfText
    }
}
