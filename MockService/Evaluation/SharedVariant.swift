import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncWire

/// A variant of a stream with all computed that the subscriptions of one request share.
///
/// A small request has thousands of subscriptions, or a parameter of half a megabyte, and so the one must not be multiplied
/// by the other.
struct SharedVariant {
    /// What must be one value.
    private struct Key {
        /// The value that all subscriptions share, as it stands in a name; nil if there is none.
        var shared: String?
        /// What depends on the subscription.
        var own: [Expression] = []
    }

    /// Index into the configuration's sources.
    let source: Int
    private var gates: [Expression] = []
    private var keys: [Key] = []
    /// Whether what is shared rules out every bucket.
    private var isClosed = false

    /// Computes what is shared.
    ///
    /// - Parameters:
    ///   - variant: The variant.
    ///   - request: The request without a subscription.
    init(_ variant: StreamVariant, _ request: ExpressionEvaluator) {
        source = variant.source
        for gate in variant.gates {
            switch request.sharedCondition(gate) {
            case .literal(let value): isClosed = isClosed || value == 0
            case let gate: gates.append(gate)
            }
        }
        guard !isClosed else { return }
        for alternatives in variant.keys {
            var key = Key()
            for alternative in alternatives {
                guard case .literal(let value) = request.shared(alternative) else {
                    key.own.append(alternative)
                    continue
                }
                guard let text = BucketName.text(value), Self.agree(key.shared, text) else {
                    isClosed = true
                    return
                }
                key.shared = text
            }
            keys.append(key)
        }
    }

    /// Finds the bucket that a subscription gets.
    ///
    /// - Parameter evaluator: The request with the subscription.
    /// - Returns: The values as they stand in its name; nil if it gets none.
    /// - Throws: `EvaluationError`.
    func values(_ evaluator: ExpressionEvaluator) throws(EvaluationError) -> [String]? {
        guard !isClosed else { return nil }
        var isOpen = true
        for gate in gates where try !evaluator.holds(gate) { isOpen = false }
        guard isOpen else { return nil }
        var values: [String] = []
        for key in keys {
            var value = key.shared
            for expression in key.own {
                guard let text = BucketName.text(try evaluator.value(of: expression)), Self.agree(value, text)
                else { return nil }
                value = text
            }
            guard let value else { return nil }
            values.append(value)
        }
        return values
    }

    private static func agree(_ one: String?, _ other: String) -> Bool {
        one.map { ExactText($0) == ExactText(other) } ?? true
    }
}

extension ExpressionEvaluator {
    /// The expression with all computed that depends on no subscription.
    fileprivate func shared(_ expression: Expression) -> Expression {
        let result: Expression
        let parts: [Expression]
        switch expression {
        case .literal, .column: return expression
        case .parameter(let parameter):
            return parameter.source == .subscription ? expression : .literal(self.parameter(parameter))
        case .comparison(let comparison, let left, let right):
            parts = [shared(left), shared(right)]
            result = .comparison(comparison, parts[0], parts[1])
        case .and(let left, let right):
            parts = [sharedCondition(left), sharedCondition(right)]
            result = .and(parts[0], parts[1])
        case .or(let left, let right):
            parts = [sharedCondition(left), sharedCondition(right)]
            result = .or(parts[0], parts[1])
        case .not(let inner):
            parts = [sharedCondition(inner)]
            result = .not(parts[0])
        case .isNull(let inner):
            parts = [shared(inner)]
            result = .isNull(parts[0])
        }
        guard parts.allSatisfy({ if case .literal = $0 { true } else { false } }) else { return result }
        // What has no value has none for each subscription, to which that is told.
        return (try? value(of: result)).map { .literal($0) } ?? result
    }

    /// The same of a condition: of a value only counts whether it is true.
    fileprivate func sharedCondition(_ expression: Expression) -> Expression {
        let result = shared(expression)
        // It never throws: a literal has a value.
        guard case .literal = result, let holds = try? holds(result) else { return result }
        return .literal(holds ? 1 : 0)
    }
}
