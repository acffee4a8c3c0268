import PowerSyncWire

/// Finds the buckets of a request (service 3.6, 3.7), asking for rows of lookups as it goes; a value, without I/O.
///
/// The way is `begin`, then `next` until it has the resolution, with a `take` for each time that it asks for rows. All rows
/// between `begin` and the resolution must be of one checkpoint. After a `RequestError` it is of no more use.
package struct RequestEvaluation: Sendable {
    private let plan: SyncPlan
    private let limits: RequestLimits
    private let evaluator: ExpressionRun
    /// In the order of the reasons: streams, in a stream subscriptions, then default, queriers.
    private var runs: [QuerierRun] = []
    /// Elements and rows of all runs.
    private var results = 0
    /// Bytes of all runs.
    private var bytes = 0
    /// Keys that all runs have read.
    private var keys = 0
    /// What was looked at for this evaluation, with what was at the beginning of the request.
    private var work = 0
    /// What was looked at before the first evaluation.
    private var firstWork = 0
    /// Why the request cannot be answered at all.
    private var refusal: RequestError?
    /// Indexes into the plan's streams of those that the request has, in their order.
    package private(set) var streams: [Int] = []

    /// Takes a request; what no lookup changes is computed here, once.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - request: The body of the request.
    ///   - token: The payload of its token.
    ///   - limits: How much it may ask for.
    package init(
        _ plan: SyncPlan, _ request: SyncStreamRequest, token: JSON, limits: RequestLimits = RequestLimits()
    ) {
        self.plan = plan
        self.limits = limits
        evaluator = ExpressionRun(options: plan.options)
        let work = RequestWork(limits)
        let shared = RequestSlots(token: token, connection: request.parameters)
        let includesDefaults = request.streams?.includeDefaults ?? true
        let subscriptions = request.streams?.subscriptions ?? []
        let byStream = Dictionary(grouping: subscriptions.indices) { ExactText(subscriptions[$0].stream) }
        for (index, stream) in plan.streams.enumerated() {
            let own = byStream[stream.name] ?? []
            // A stream of edition 2 that is asked for is a default one, too, though defaults are not wanted: as recorded.
            let isAlpha = plan.edition < 3 && !stream.isLegacy
            let isDefault = stream.isDefault && (includesDefaults || (isAlpha && !own.isEmpty))
            guard isDefault || !own.isEmpty else { continue }
            streams.append(index)
            let queriers = stream.queriers.map { querier in
                (
                    SharedQuerier(querier, of: plan, evaluator, shared, work),
                    querier.priority ?? stream.priority
                )
            }
            for number in own {
                let slots = shared.with(subscription: subscriptions[number].parameters)
                for (querier, priority) in queriers {
                    add(
                        QuerierRun(
                            querier, stream: index, reason: .subscription(number),
                            priority: subscriptions[number].overridePriority ?? priority, slots, evaluator,
                            work), work)
                }
            }
            guard isDefault else { continue }
            for (querier, priority) in queriers {
                add(
                    QuerierRun(
                        querier, stream: index, reason: .isDefault, priority: priority, shared, evaluator,
                        work), work)
            }
        }
        (self.work, firstWork) = (work.spent, work.spent)
        if refusal == nil, work.isExceeded { refusal = RequestError(message: limits.tooMuchWork) }
    }

    /// Adds a run, at its end if no lookup is in it; none is added behind a refusal, or without a result.
    private mutating func add(_ run: QuerierRun?, _ work: RequestWork) {
        guard refusal == nil, var run else { return }
        if run.isStatic { run.advance(evaluator, work) }
        if run.isStatic, run.results == 0, case .done(let names) = run.state, names.isEmpty { return }
        results += run.results
        bytes += run.bytes
        runs.append(run)
        refusal = objection(to: run, work)
        // Each is kept, also before it has looked anything up.
        if refusal == nil, runs.count > limits.keys {
            refusal = RequestError(message: limits.tooManyReads)
        }
    }

    /// What is wrong with a request that has come to this run.
    private func objection(to run: QuerierRun, _ work: RequestWork) -> RequestError? {
        if work.isExceeded { return RequestError(message: limits.tooMuchWork) }
        if case .refused(let message) = run.state {
            return RequestError(message: message, details: details())
        }
        if results > limits.results {
            return RequestError(message: limits.tooManyResults, details: details())
        }
        if bytes > limits.nameBytes { return RequestError(message: limits.tooManyBytes) }
        if keys > limits.keys { return RequestError(message: limits.tooManyReads) }
        return nil
    }

    /// Whether the request alone decides: no lookup changes what it comes to.
    package var isStatic: Bool { runs.allSatisfy(\.isStatic) }

    /// All rows that were asked for since the beginning, keys without rows included.
    package var used: Set<LookupRead> {
        runs.reduce(into: []) { used, run in used.formUnion(run.used) }
    }

    /// Begins an evaluation, for another checkpoint.
    ///
    /// - Parameter changed: What has changed since the last one; nil for all. Queriers that used none of it keep their
    ///   buckets.
    package mutating func begin(changed: Set<LookupRead>?) {
        work = firstWork
        for index in runs.indices {
            if let changed, runs[index].used.isDisjoint(with: changed) { continue }
            change(index) { $0.restart() }
        }
    }

    /// Goes on as far as it can.
    ///
    /// - Returns: What it needs: rows of one stage of all queriers, each read once; or nothing more.
    /// - Throws: `RequestError` if the request is over a limit.
    package mutating func next() throws(RequestError) -> RequestNeed {
        if let refusal { throw refusal }
        let (evaluator, work) = (evaluator, RequestWork(limits, spent: self.work))
        defer { self.work = work.spent }
        var reads: [LookupRead] = []
        var seen: Set<LookupRead> = []
        for index in runs.indices {
            if case .ready = runs[index].state { change(index) { $0.advance(evaluator, work) } }
            if let objection = objection(to: runs[index], work) { throw objection }
            for read in runs[index].reads where seen.insert(read).inserted { reads.append(read) }
        }
        guard reads.isEmpty else { return .rows(reads) }
        return .done(try resolution())
    }

    /// Takes the rows that were asked for; a read that is not there has none.
    ///
    /// - Parameter rows: For each read its rows, the outputs of the lookup.
    /// - Throws: `RequestError` if there are too many.
    package mutating func take(_ rows: [LookupRead: [[ScalarValue]]]) throws(RequestError) {
        guard runs.reduce(results, { $0 + $1.found(rows) }) <= limits.results else {
            throw RequestError(message: limits.tooManyResults, details: details(rows))
        }
        let (evaluator, work) = (evaluator, RequestWork(limits, spent: self.work))
        defer { self.work = work.spent }
        for index in runs.indices {
            guard case .waiting = runs[index].state else { continue }
            change(index) { $0.take(rows, evaluator, work) }
            if let objection = objection(to: runs[index], work) { throw objection }
        }
    }

    /// Changes a run, and keeps count of all.
    private mutating func change(_ index: Int, _ body: (inout QuerierRun) -> Void) {
        results -= runs[index].results
        bytes -= runs[index].bytes
        keys -= runs[index].used.count
        body(&runs[index])
        results += runs[index].results
        bytes += runs[index].bytes
        keys += runs[index].used.count
    }

    /// The buckets of runs that are all at their end.
    private func resolution() throws(RequestError) -> Resolution {
        var lookedUp: Set<ExactText> = []
        for run in runs where !run.isStatic { lookedUp.formUnion(Self.names(run)) }
        var places: [ExactText: Int] = [:]
        var buckets: [Found] = []
        var failures: [Resolution.Failure] = []
        for run in runs {
            if case .failed(let message) = run.state {
                failures.append(
                    Resolution.Failure(stream: run.stream, reason: run.reason, message: message))
            }
            for name in Self.names(run) {
                let place = places[name] ?? buckets.count
                if place == buckets.count {
                    places[name] = place
                    buckets.append(Found(name: name, source: run.source))
                }
                buckets[place].allReasons.append(run.reason)
                // What a lookup finds has the reasons and the priority of lookups alone (3.6).
                if run.isStatic, lookedUp.contains(name) { continue }
                if buckets[place].reasons.isEmpty { buckets[place].stream = run.stream }
                buckets[place].priority = min(buckets[place].priority, run.priority)
                buckets[place].reasons.append(run.reason)
            }
        }
        guard buckets.count <= limits.buckets else {
            throw RequestError(message: limits.tooManyBuckets(buckets.count), details: bucketDetails())
        }
        return Resolution(
            buckets: buckets.map {
                Resolution.Bucket(
                    name: $0.name, source: $0.source, stream: $0.stream, priority: $0.priority,
                    reasons: $0.reasons, allReasons: $0.allReasons)
            }, failures: failures)
    }

    /// A bucket, and the ways to it that are known so far.
    private struct Found {
        let name: ExactText
        let source: Int
        var stream = 0
        var priority = Int.max
        var reasons: [Resolution.Reason] = []
        var allReasons: [Resolution.Reason] = []
    }

    private static func names(_ run: QuerierRun) -> [ExactText] {
        if case .done(let names) = run.state { names } else { [] }
    }

    /// How many buckets each stream has.
    private func bucketDetails() -> [String] {
        var names: [Int: Set<ExactText>] = [:]
        for run in runs { names[run.stream, default: []].formUnion(Self.names(run)) }
        return details("Buckets", names.mapValues(\.count))
    }

    /// How many elements and rows each stream has, with those that were just found.
    private func details(_ rows: [LookupRead: [[ScalarValue]]] = [:]) -> [String] {
        var counts: [Int: Int] = [:]
        for run in runs { counts[run.stream, default: 0] += run.results + run.found(rows) }
        return details("Parameter query results", counts)
    }

    /// The lines behind the first one: a title, and the hundred largest streams.
    private func details(_ what: String, _ counts: [Int: Int]) -> [String] {
        let kind = plan.streams.allSatisfy(\.isLegacy) ? "bucket definition" : "sync stream"
        let largest = counts.filter { $0.value > 0 }
            .sorted { $0.value == $1.value ? $0.key < $1.key : $0.value > $1.value }.prefix(100)
        return ["\(what) by \(kind):"]
            + largest.map { "  \(plan.streams[$0.key].name.text): \($0.value)" }
    }
}
