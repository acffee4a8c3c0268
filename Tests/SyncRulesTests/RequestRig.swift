import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// Evaluates requests of plans written by hand, with rows that a test names.
struct RequestRig {
    /// The rows of lookups.
    var rows: [LookupRead: [[ScalarValue]]] = [:]
    /// What was asked for, a list for each time.
    private(set) var asked: [[LookupRead]] = []
    /// The evaluation.
    private(set) var evaluation: RequestEvaluation

    /// Makes a rig for one request.
    init(
        _ plan: SyncPlan, token: String = #"{"sub":"u1"}"#, connection: String? = nil,
        subscriptions: [StreamSubscription] = [], defaults: Bool = true,
        limits: RequestLimits = RequestLimits()
    ) throws {
        let request = SyncStreamRequest(
            parameters: try connection.map { try JSON.parse($0) },
            streams: StreamSubscriptions(includeDefaults: defaults, subscriptions: subscriptions))
        evaluation = RequestEvaluation(plan, request, token: try JSON.parse(token), limits: limits)
    }

    /// Evaluates to the end.
    mutating func resolve(changed: Set<LookupRead>? = nil) throws(RequestError) -> Resolution {
        asked = []
        evaluation.begin(changed: changed)
        while true {
            switch try evaluation.next() {
            case .done(let resolution): return resolution
            case .rows(let reads):
                asked.append(reads)
                var answer: [LookupRead: [[ScalarValue]]] = [:]
                for read in reads { answer[read] = rows[read] }
                try evaluation.take(answer)
            }
        }
    }

    /// Asks for what comes next, without an answer.
    mutating func next() throws(RequestError) -> RequestNeed { try evaluation.next() }
}

/// Short ways to write plans down.
extension SyncPlan {
    /// Streams `s0`, `s1` …, each with its queriers; source n is named `s0|n`, whatever uses it.
    static func of(
        _ streams: [[Querier]], edition: Int = 3, isDefault: Bool = true, priority: Int = 3,
        isLegacy: Bool = false
    ) -> SyncPlan {
        let count = (streams.joined().map(\.source).max() ?? 0) + 1
        return SyncPlan(
            edition: edition, options: CompatibilityOptions(edition: edition),
            streams: streams.enumerated().map { index, queriers in
                StreamPlan(
                    name: ExactText("s\(index)"), isDefault: isDefault, priority: priority,
                    isLegacy: isLegacy, queriers: queriers)
            }, sources: (0..<count).map { BucketSource(name: ExactText("s0|\($0)"), processors: []) })
    }
}

/// Short ways to write expressions of requests down.
extension Expression {
    /// A value of the token.
    static func auth(_ name: String) -> Expression { .parameter(RequestParameter(.auth, argument: name)) }

    /// A parameter of the connection.
    static func connection(_ name: String) -> Expression {
        .parameter(RequestParameter(.connection, argument: name))
    }

    /// A parameter of the subscription.
    static func subscription(_ name: String) -> Expression {
        .parameter(RequestParameter(.subscription, argument: name))
    }

    /// A text.
    static func text(_ text: String) -> Expression { .literal(ScalarValue(text: text)) }

    /// An output of the lookup of a stage.
    static func output(_ stage: Int, _ index: Int = 0) -> Expression {
        .column(.row(stage), ExactText(String(index)))
    }

    /// The value of the element of a stage.
    static func value(_ stage: Int) -> Expression { .element(.element(stage), .value) }
}

extension LookupRead {
    /// A read with texts for a key.
    static func of(_ lookup: Int, _ key: String...) -> LookupRead {
        LookupRead(lookup: lookup, key: key.map { ScalarValue(text: $0) })
    }
}

extension Resolution {
    /// The buckets: name, priority, reasons.
    var lines: [String] {
        buckets.map { bucket in
            let reasons = bucket.reasons.map { reason in
                switch reason {
                case .isDefault: "default"
                case .subscription(let number): String(number)
                }
            }
            return "\(bucket.name.text) \(bucket.priority) \(reasons.joined(separator: ","))"
        }
    }
}
