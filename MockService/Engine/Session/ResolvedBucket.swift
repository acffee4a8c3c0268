import PowerSyncWire

/// A bucket that a request shall get.
package struct ResolvedBucket: Sendable, Equatable {
    /// The whole name.
    package let name: String
    /// The smallest of its reasons' priorities.
    package var priority: Int
    /// Why it is listed, in the order of evaluation.
    package var reasons: [SubscriptionReason]

    /// Makes a bucket of its fields.
    package init(name: String, priority: Int, reasons: [SubscriptionReason]) {
        self.name = name
        self.priority = priority
        self.reasons = reasons
    }
}
