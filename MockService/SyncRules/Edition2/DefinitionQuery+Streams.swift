import PowerSyncWire

/// What queries of edition 2 read of the request (service 2.4).
extension DefinitionQuery {
    /// A call of a function of `auth`, `connection` or `subscription`.
    ///
    /// - Parameters:
    ///   - call: The call.
    ///   - schema: What stands before its name.
    ///   - range: Where it stands.
    /// - Returns: Its value; nil if it is wrong, which is told.
    /// - Throws: `QueryFailure` if its argument is a constant without a value.
    mutating func streamCall(
        _ call: CallSyntax, of schema: NameSyntax, at range: Range<Int>
    ) throws(QueryFailure) -> DefinitionClause? {
        let prefix = schema.text.text.lowercased()
        let name = call.name.text.text.lowercased()
        let source = RequestParameter.Source(rawValue: prefix)
        if let source, source != .tokenParameters {
            switch name {
            case "user_id" where source == .auth: return request(.parameter(.userID))
            case "parameters": return request(.request(source))
            case "parameter": return try parameter(of: source, call, at: range)
            default: break
            }
        }
        return refuse(.functionNotDefined, ["\(prefix).\(name)"], at: range)
    }

    private func request(_ expression: Expression) -> DefinitionClause {
        .value(DefinitionValue(source: .request, expression: expression))
    }

    private mutating func parameter(
        of source: RequestParameter.Source, _ call: CallSyntax, at range: Range<Int>
    ) throws(QueryFailure) -> DefinitionClause? {
        guard call.arguments.count == 1, let argument = call.arguments.first else {
            return refuse(.singleArgument, at: range)
        }
        switch try clause(argument) {
        case .value(let path)? where path.source == .row: return refuse(.mixedClause, at: argument.range)
        case .value(let path)?:
            guard case .literal(.text(let key)) = path.expression else {
                return request(.member(.request(source), path.expression, .value))
            }
            return request(.parameter(RequestParameter(source, argument: key.text)))
        case .match?: return refuse(.matchElsewhere, at: argument.range)
        case nil: return nil
        }
    }
}
