import PowerSyncWire

/// The buckets that a request comes to, each once (service 3.6).
package struct Resolution: Sendable, Hashable {
    /// Why a bucket is there.
    package enum Reason: Sendable, Hashable {
        /// A stream that is default.
        case isDefault
        /// A subscription, by its index in the request.
        case subscription(Int)
    }

    /// One bucket.
    package struct Bucket: Sendable, Hashable {
        /// Its name without `N#`.
        package let name: ExactText
        /// Index into the plan's sources.
        package let source: Int
        /// Index into the plan's streams of the first one that names it.
        package let stream: Int
        /// 0 to 3, 0 is the most urgent.
        package let priority: Int
        /// Why it is there, one for each way, in order.
        package let reasons: [Reason]
        /// The reasons with those of ways without a lookup beside one with a lookup, which clients are not told.
        package let allReasons: [Reason]

        /// Makes a bucket of its fields; all reasons are those that clients are told unless they are said.
        package init(
            name: ExactText, source: Int, stream: Int = 0, priority: Int, reasons: [Reason],
            allReasons: [Reason]? = nil
        ) {
            self.name = name
            self.source = source
            self.stream = stream
            self.priority = priority
            self.reasons = reasons
            self.allReasons = allReasons ?? reasons
        }
    }

    /// A stream without a result for one subscription.
    package struct Failure: Sendable, Hashable {
        /// Index into the plan's streams.
        package let stream: Int
        /// Of which it failed.
        package let reason: Reason
        /// What is wrong.
        package let message: String

        /// Makes a failure of its fields.
        package init(stream: Int, reason: Reason, message: String) {
            self.stream = stream
            self.reason = reason
            self.message = message
        }
    }

    /// The buckets in the order in which they were found.
    package let buckets: [Bucket]
    /// What failed.
    package let failures: [Failure]

    /// Makes a resolution of its parts.
    package init(buckets: [Bucket], failures: [Failure] = []) {
        self.buckets = buckets
        self.failures = failures
    }
}
