import PowerSyncWire

/// What a configuration means, of whatever edition; equal plans make the service do the same.
package struct SyncPlan: Sendable, Hashable {
    /// Raised when the same text comes to mean something else: it is hashed with the text, so all is replicated anew.
    package static let format = 2

    /// The edition.
    package let edition: Int
    /// What of an older edition it keeps.
    package let options: CompatibilityOptions
    /// The streams, and the bucket definitions as streams, in the order of the text.
    package let streams: [StreamPlan]
    /// The sources of buckets; streams with the same rows share one (service 5).
    package let sources: [BucketSource]
    /// The lookups that queriers use.
    package let lookups: [LookupDefinition]
    /// The events.
    package internal(set) var events: [EventPlan]

    /// Makes a plan of its parts.
    package init(
        edition: Int, options: CompatibilityOptions, streams: [StreamPlan], sources: [BucketSource],
        lookups: [LookupDefinition] = [], events: [EventPlan] = []
    ) {
        self.edition = edition
        self.options = options
        self.streams = streams
        self.sources = sources
        self.lookups = lookups
        self.events = events
    }
}

/// One stream, or one bucket definition.
package struct StreamPlan: Sendable, Hashable {
    /// Its name.
    package let name: ExactText
    /// Whether clients get it without asking.
    package let isDefault: Bool
    /// 0 to 3, 0 is the most urgent.
    package let priority: Int
    /// Whether it is a bucket definition.
    package let isLegacy: Bool
    /// The ways in which a request gets buckets of it.
    package let queriers: [Querier]

    /// Makes a stream of its parts.
    package init(
        name: ExactText, isDefault: Bool, priority: Int, isLegacy: Bool = false, queriers: [Querier]
    ) {
        self.name = name
        self.isDefault = isDefault
        self.priority = priority
        self.isLegacy = isLegacy
        self.queriers = queriers
    }
}

/// Rows that form buckets of one kind.
package struct BucketSource: Sendable, Hashable {
    /// The part of a bucket's name before its values: `todos|0`, or the name of a bucket definition.
    package let name: ExactText
    /// What puts rows into the buckets, each once.
    package let processors: [RowProcessor]

    /// Makes a source of its parts.
    package init(name: ExactText, processors: [RowProcessor]) {
        self.name = name
        self.processors = processors
    }
}

extension SyncPlan {
    /// What sets write checkpoints of rows, in the order of the text.
    package var writeCheckpointPayloads: [RowProcessor] {
        events.filter(\.setsWriteCheckpoints).flatMap(\.payloads)
    }

    /// Whether rows set the write checkpoints that clients are told, instead of the service.
    package var hasCustomWriteCheckpoints: Bool {
        events.contains { $0.setsWriteCheckpoints && !$0.payloads.isEmpty }
    }
}

/// What a configuration makes of rows beside buckets (service 7.9).
package struct EventPlan: Sendable, Hashable {
    /// The columns of a payload that sets a write checkpoint: whose it is, of which device, and its id.
    package static let writeCheckpointColumns = ["user_id", "client_id", "checkpoint"].map { ExactText($0) }
    /// The events of which rows set write checkpoints: counted by the backend, and named by the client (backend 5.2).
    private static let ofWriteCheckpoints = ["write_checkpoints", "checkpoint_requests"].map { ExactText($0) }

    /// Its name, such as `write_checkpoints`.
    package let name: ExactText
    /// What makes payloads of rows; they have no keys.
    package let payloads: [RowProcessor]

    /// Makes an event of its parts.
    package init(name: ExactText, payloads: [RowProcessor]) {
        self.name = name
        self.payloads = payloads
    }

    /// Whether rows set write checkpoints; any other event comes to nothing.
    package var setsWriteCheckpoints: Bool { Self.setsWriteCheckpoints(name) }

    /// Whether rows of an event of a name set write checkpoints.
    static func setsWriteCheckpoints(_ name: ExactText) -> Bool { ofWriteCheckpoints.contains(name) }
}
