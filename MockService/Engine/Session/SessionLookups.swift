import PowerSyncSyncRules
import PowerSyncWire

/// What a request comes to at one checkpoint.
package struct SessionBuckets: Sendable, Equatable {
    /// The buckets, each once, in the order in which they were found.
    package var buckets: [ResolvedBucket]
    /// What the first line says of the streams that the request has.
    package var streams: [StreamDescription]

    /// The whole names of the buckets.
    package var names: Set<ExactText> { Set(buckets.map { ExactText($0.name) }) }
}

/// Finds the buckets of one request, and knows the keys of lookups that they come of (service 3.6, 3.7).
///
/// A value: an evaluation that is given up leaves it as it was.
package struct SessionLookups: Sendable {
    /// The replication stream and its plan.
    package let served: ServedPlan
    private let limits: RequestLimits
    private let lookupBytes: Int
    private var evaluation: RequestEvaluation
    /// What the last evaluation has read, by the keys that publications name.
    private var reads: [LookupKey: Set<LookupRead>] = [:]

    /// Takes a request; what no lookup changes is computed here, once.
    ///
    /// - Parameters:
    ///   - served: The replication stream and its plan.
    ///   - request: The body of the request.
    ///   - token: The payload of its token.
    ///   - limits: How much it may ask for.
    ///   - lookupBytes: How many bytes of lookups one evaluation reads.
    package init(
        _ served: ServedPlan, _ request: SyncStreamRequest, token: JSON,
        limits: RequestLimits = RequestLimits(), lookupBytes: Int = StoreLimits().lookupBytes
    ) {
        self.served = served
        self.limits = limits
        self.lookupBytes = lookupBytes
        evaluation = RequestEvaluation(served.plan, request, token: token, limits: limits)
    }

    /// Whether the request alone decides: then `settled` says what it comes to, for ever.
    package var isStatic: Bool { evaluation.isStatic }

    /// The keys of lookups that the last evaluation has read, those that found nothing included.
    package var keys: Set<LookupKey> { Set(reads.keys) }

    /// What a request comes to whose buckets no lookup changes.
    ///
    /// - Returns: The buckets; nil if a store is needed to say so.
    /// - Throws: `RequestError` if the request is over a limit.
    package mutating func settled() throws(RequestError) -> SessionBuckets? {
        guard isStatic, case .done(let resolution) = try evaluation.next() else { return nil }
        return buckets(of: resolution)
    }

    /// Finds the buckets at the checkpoint of a snapshot.
    ///
    /// - Parameters:
    ///   - changed: The keys that find something else than at the checkpoint of the last evaluation; nil if any may. What
    ///     used none of them is not evaluated again.
    ///   - snapshot: The moment, of the stream that is served.
    /// - Returns: The buckets.
    /// - Throws: `RequestError` if the request is over a limit; `SQLiteError`; `StoreError` if something cannot be read.
    package mutating func evaluate(
        changed: Set<LookupKey>? = nil, in snapshot: StoreSnapshot
    ) throws -> SessionBuckets {
        let reads = self.reads
        evaluation.begin(
            changed: changed.map { keys -> Set<LookupRead> in Set(keys.flatMap { reads[$0] ?? [] }) })
        // One row more than there may be, so that too many are counted as such.
        let most: Int = limits.results == .max ? .max : limits.results + 1
        var room = LookupRoom(rows: most, bytes: lookupBytes)
        while true {
            switch try evaluation.next() {
            case .done(let resolution):
                noteReads()
                return buckets(of: resolution)
            case .rows(let needed):
                try evaluation.take(try rows(needed, snapshot, &room))
                guard !room.isOver else {
                    throw RequestError(
                        message: "Too many parameter query results: values of more than \(lookupBytes) bytes")
                }
            }
        }
    }

    /// Reads what keys of lookups find.
    private func rows(
        _ reads: [LookupRead], _ snapshot: StoreSnapshot, _ room: inout LookupRoom
    ) throws -> [LookupRead: [[ScalarValue]]] {
        var found: [LookupRead: [[ScalarValue]]] = [:]
        for (lookup, reads) in Dictionary(grouping: reads, by: \.lookup).sorted(by: { $0.key < $1.key }) {
            let keys = reads.compactMap { read in Self.packed(read.key).map { (read: read, key: $0) } }
            let stored = try snapshot.rows(
                of: served.lookups[lookup], keys: keys.map(\.key),
                width: served.plan.lookups[lookup].outputs.count, &room)
            for (read, key) in keys {
                guard let rows = stored[key] else { continue }
                found[read] = rows.rows.map { row in row.map { $0.scalar(in: rows.arena) } }
            }
        }
        return found
    }

    private mutating func noteReads() {
        reads = [:]
        for read in evaluation.used {
            guard let key = Self.packed(read.key) else { continue }
            let name = LookupKey(definition: served.lookups[read.lookup], key: key)
            reads[name, default: []].insert(read)
        }
    }

    /// A key as the store has it; nil for one that nothing can be found by.
    private static func packed(_ values: [ScalarValue]) -> [UInt8]? {
        var arena: [UInt8] = []
        let slots = values.map { Slot(scalar: $0, in: &arena) }
        var key: [UInt8] = []
        return LookupValues.appendKey(slots, in: arena, to: &key) ? key : nil
    }

    /// The buckets and streams as lines tell of them.
    private func buckets(of resolution: PowerSyncSyncRules.Resolution) -> SessionBuckets {
        let plan = served.plan
        var places: [Int: Int] = [:]
        for (place, stream) in evaluation.streams.enumerated() { places[stream] = place }
        let buckets = resolution.buckets.map { bucket in
            ResolvedBucket(
                name: "\(served.stream)#\(bucket.name.text)", priority: bucket.priority,
                reasons: bucket.reasons.map { reason -> SubscriptionReason in
                    switch reason {
                    case .subscription(let number): .subscription(number)
                    // The stream that names the bucket first, as recorded, whichever is the default one.
                    case .isDefault: .defaultStream(places[bucket.stream] ?? 0)
                    }
                })
        }
        var streams = evaluation.streams.map { index in
            StreamDescription(name: plan.streams[index].name.text, isDefault: plan.streams[index].isDefault)
        }
        for failure in resolution.failures {
            guard let place = places[failure.stream] else { continue }
            var subscription: Int?
            if case .subscription(let number) = failure.reason { subscription = number }
            streams[place].errors.append(StreamError(subscription: subscription, message: failure.message))
        }
        return SessionBuckets(buckets: buckets, streams: streams)
    }
}
