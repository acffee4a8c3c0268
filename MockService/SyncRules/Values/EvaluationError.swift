/// An expression that has no value for this row or request; the row or subscription is left out.
package struct EvaluationError: Error, Sendable, Hashable {
    /// What cannot be computed; holds no values but where the real service's own text has one (service 3.6).
    package let message: String

    /// The same without what differs from value to value, for the log: it counts how often each text is told.
    package let summary: String

    /// What a reader of errors may tell apart.
    package enum Kind: Sendable, Hashable {
        /// A path of JSON that does not begin as one.
        case path
        /// Anything else.
        case other
    }

    /// What it is about.
    package let kind: Kind

    /// Makes an error of its message.
    ///
    /// - Parameters:
    ///   - message: What cannot be computed.
    ///   - summary: The same without values and places; the message unless it is said.
    ///   - kind: What it is about.
    package init(message: String, summary: String? = nil, kind: Kind = .other) {
        self.message = message
        self.kind = kind
        self.summary = summary ?? message
    }
}
