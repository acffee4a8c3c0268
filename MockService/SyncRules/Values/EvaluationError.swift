/// An expression that has no value for this row or request; the row or subscription is left out.
package struct EvaluationError: Error, Sendable, Hashable {
    /// What cannot be computed; holds no values but where the real service's own text has one (service 3.6).
    package let message: String

    /// Makes an error of its message.
    package init(message: String) { self.message = message }
}
