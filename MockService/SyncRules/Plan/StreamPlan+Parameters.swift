import PowerSyncWire

extension StreamPlan {
    /// The names of the parameters that it reads of a subscription, in the order of their bytes.
    ///
    /// Of a path it is the first key.
    package var subscriptionParameters: [ExactText] {
        var names: Set<ExactText> = []
        for querier in queriers {
            let staged = querier.stages.flatMap { stage -> [Expression] in
                switch stage {
                case .elements(let value, let filters): [value] + filters
                case .lookup(_, let keys, let filters): keys.flatMap { $0 } + filters
                }
            }
            let all = querier.gates + staged + querier.keys.flatMap { $0 }
            for expression in all { Self.collect(expression, &names) }
        }
        return names.sorted()
    }

    private static func collect(_ expression: Expression, _ names: inout Set<ExactText>) {
        switch expression {
        case .parameter(let parameter):
            if parameter.source == .subscription, let name = parameter.path.first { names.insert(name) }
        case .member(.request(.subscription), .literal(.text(let key)), _):
            let parameter = RequestParameter(.subscription, argument: key.text)
            if let name = parameter.path.first { names.insert(name) }
        default: for child in expression.children { collect(child, &names) }
        }
    }
}
