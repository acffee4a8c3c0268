import PowerSyncWire

/// A querier with all computed that the subscriptions of one request share.
///
/// A small request has thousands of subscriptions, or a parameter of half a megabyte, and so the one must not be multiplied
/// by the other.
struct SharedQuerier: Sendable {
    /// Elements of a JSON value of the request.
    enum Elements: Sendable {
        /// Those of every subscription; or why they cannot be read.
        case shared(Result<[JSONElements.Element], EvaluationError>)
        /// Those of a value that depends on the subscription.
        case own(Expression)
        /// Those of a value that depends on what earlier stages have found.
        case nested(Expression)
    }

    /// A stage.
    enum Step: Sendable {
        /// Each element for which the filters hold.
        case elements(Elements, filters: [Expression])
        /// The rows of a lookup with these keys for which the filters hold.
        case lookup(Int, keys: [[Expression]], filters: [Expression])
    }

    /// A value of the bucket's name.
    struct Key: Sendable {
        /// Its spelling, of those values that all subscriptions share.
        var shared: String?
        /// The other values, which must be spelled alike.
        var own: [Expression] = []
    }

    /// Index into the plan's sources.
    let source: Int
    /// The name of the source.
    let name: ExactText
    /// Whether it has no lookup.
    let isStatic: Bool
    /// Whether a value NULL is spelled.
    let listsNull: Bool
    /// What of an older edition the plan keeps.
    let options: CompatibilityOptions
    /// The gates that are not decided yet.
    private(set) var gates: [Expression] = []
    /// Whether a gate does not hold for any subscription.
    private(set) var isClosed = false
    /// The stages.
    let steps: [Step]
    /// The values of the name.
    private(set) var keys: [Key] = []
    /// Whether the values that all share have no name.
    private(set) var isNameless = false
    /// For each stage the ways of its keys that have several values.
    let stageWays: [[KeyWays]]
    /// The ways of the values of the name, of those that several conditions give.
    let nameWays: [KeyWays]
    /// What its stages and its name still need of the request: nothing that is computed.
    private(set) var names = RequestSlots.Names()

    /// Computes what is shared.
    ///
    /// - Parameters:
    ///   - querier: The querier.
    ///   - plan: The plan that it is of.
    ///   - evaluator: What evaluates expressions.
    ///   - request: The request without a subscription.
    ///   - work: What counts the work.
    init(
        _ querier: Querier, of plan: SyncPlan, _ evaluator: ExpressionRun, _ request: RequestSlots,
        _ work: RequestWork
    ) {
        source = querier.source
        name = plan.sources[querier.source].name
        isStatic = querier.isStatic
        listsNull = plan.edition < 3
        options = plan.options
        stageWays = querier.stageWays
        nameWays = querier.nameWays
        steps = querier.stages.map { stage -> Step in
            switch stage {
            case .elements(let list, let filters):
                return .elements(
                    Self.elements(evaluator.folding(list, request, work), plan.options, work),
                    filters: filters.map { evaluator.folding($0, request, work) })
            case .lookup(let lookup, let keys, let filters):
                return .lookup(
                    lookup, keys: keys.map { key in key.map { evaluator.folding($0, request, work) } },
                    filters: filters.map { evaluator.folding($0, request, work) })
            }
        }
        let inputs = TupleInputs(slots: request, tuple: [], work: work)
        for gate in querier.gates {
            let folded = evaluator.folding(gate, request, work)
            // One that cannot be decided is told to each subscription.
            if folded.isLiteral, let holds = try? evaluator.holds(folded, in: inputs) {
                isClosed = isClosed || !holds
            } else {
                gates.append(folded)
            }
        }
        for alternatives in querier.keys {
            var key = Key()
            for alternative in alternatives {
                let folded = evaluator.folding(alternative, request, work)
                guard case .literal(let value) = folded else {
                    key.own.append(folded)
                    continue
                }
                let text = BucketSpelling.text(value, listsNull: listsNull)
                isNameless = isNameless || text == nil || !Self.agree(key.shared, text)
                key.shared = text
            }
            keys.append(key)
        }
        for step in steps {
            switch step {
            case .elements(.nested(let list), let filters): ([list] + filters).forEach { names.add($0) }
            // Others are elements from the beginning.
            case .elements(_, let filters): filters.forEach { names.add($0) }
            case .lookup(_, let keys, let filters): (keys.joined() + filters).forEach { names.add($0) }
            }
        }
        for key in keys { key.own.forEach { names.add($0) } }
    }

    /// Whether two spellings of a value are the same, or one is not there.
    static func agree(_ one: String?, _ other: String?) -> Bool {
        guard let one, let other else { return true }
        return ExactText(one) == ExactText(other)
    }

    private static func elements(
        _ list: Expression, _ options: CompatibilityOptions, _ work: RequestWork
    ) -> Elements {
        guard case .literal(let value) = list else {
            return list.inputs.isSubset(of: [.request]) ? .own(list) : .nested(list)
        }
        do throws(EvaluationError) {
            return .shared(.success(try work.elements(of: value, options)))
        } catch {
            return .shared(.failure(error))
        }
    }
}
