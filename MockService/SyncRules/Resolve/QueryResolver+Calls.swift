import PowerSyncWire

/// Calls of functions, of the request and of tables (service 2.4, 6.10).
extension QueryResolver {
    /// Resolves a call; the arguments of a function that is not there are not looked at, as recorded.
    mutating func call(_ call: CallSyntax, at range: Range<Int>, in scope: Scope) -> Located {
        if call.hasClauses {
            tell(.aggregateClauses, at: range)
            return invalid(range)
        }
        let name = call.name.text.text.lowercased()
        guard let schema = call.schema else { return function(name, call, at: range, in: scope) }
        let source = RequestParameter.Source(rawValue: schema.text.text.lowercased())
        if let source, source != .tokenParameters {
            return request(source, name, call, at: range, in: scope)
        }
        if let fact = TableFact(function: name), let relation = scope.relation(schema.text) {
            return self.fact(fact, relation, call, at: range)
        }
        tell(.invalidFunctionSchema, at: call.nameRange, hint: Hint.call(schema.text, name))
        return invalid(range)
    }

    private mutating func function(
        _ name: String, _ call: CallSyntax, at range: Range<Int>, in scope: Scope
    ) -> Located {
        guard let function = Function(rawValue: name), function.isInEdition3(context.engine) else {
            let isVolatile = Function.volatileNames.contains(name)
            let known = Function.allCases.filter { $0.isInEdition3(context.engine) }.map(\.rawValue)
            tell(
                isVolatile ? .notDeterministic : .unknownFunction, at: call.nameRange,
                hint: Hint.function(name, known))
            return invalid(range)
        }
        let arity = function.signature.arguments
        if call.arguments.count < arity.lowerBound {
            tell(.tooFewArguments, ["\(arity.lowerBound)"], at: range)
        } else if call.arguments.count > arity.upperBound {
            tell(.tooManyArguments, ["\(arity.upperBound)"], at: range)
        }
        let arguments = expressions(call.arguments, in: scope)
        return made(.call(function, arguments.map(\.expression)), of: arguments, at: range)
    }

    private mutating func request(
        _ source: RequestParameter.Source, _ name: String, _ call: CallSyntax, at range: Range<Int>,
        in scope: Scope
    ) -> Located {
        let reference = Reference(.request, at: site(range))
        switch name {
        case "parameters", "user_id":
            if name == "user_id", source != .auth {
                tell(.userIDElsewhere, at: range)
                return invalid(range)
            }
            if !call.arguments.isEmpty {
                tell(.noArguments, at: range)
                return invalid(range)
            }
            let value: Expression = name == "user_id" ? .parameter(.userID) : .request(source)
            return Located(value, at: site(range), references: [reference])
        case "parameter":
            guard call.arguments.count == 1, let argument = call.arguments.first else {
                tell(.singleArgument, at: range)
                return invalid(range)
            }
            let path = expression(argument, in: scope)
            let value: Expression
            if case .literal(.text(let key)) = path.expression {
                value = .parameter(RequestParameter(source, argument: key.text))
            } else {
                value = .member(.request(source), path.expression, .value)
            }
            return Located(value, at: site(range), references: [reference] + path.references)
        default:
            let schema = ExactText(source.rawValue)
            let known = ["parameters", "parameter"] + (source == .auth ? ["user_id"] : [])
            let near = NearestName(ExactText(name)).nearest(of: known.map { ExactText($0) })
            let hint = Hint.call(schema, name) ?? near.map { "Did you mean \(source.rawValue).\($0.text)?" }
            tell(.unknownRequestFunction, at: call.nameRange, hint: hint)
            return invalid(range)
        }
    }

    private mutating func fact(
        _ fact: TableFact, _ relation: Relation, _ call: CallSyntax, at range: Range<Int>
    ) -> Located {
        guard case .row(let input, let pattern, _) = relation.content else {
            tell(.schemaOnSubquery, [call.name.text.text], at: range)
            return invalid(range)
        }
        guard call.arguments.isEmpty else {
            tell(.noArguments, at: range)
            return invalid(range)
        }
        if fact == .suffix, !pattern.name.isWildcard { tell(.suffixEmpty, at: range) }
        return Located(
            .table(fact, input), at: site(range), references: [Reference(input, at: site(range))])
    }
}

extension TableFact {
    /// What a function of a table tells; nil for another name.
    fileprivate init?(function name: String) {
        switch name {
        case "schema": self = .schema
        case "table_name": self = .name
        case "table_suffix": self = .suffix
        default: return nil
        }
    }
}
