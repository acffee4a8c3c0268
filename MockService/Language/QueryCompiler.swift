import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncWire

/// A query with its names looked up and its conditions sorted by what they depend on (service 6.9).
struct CompiledQuery {
    let processor: RowProcessor
    let gates: [Expression]
    let keys: [[Expression]]
}

/// Compiles one parsed SELECT.
struct QueryCompiler {
    private let select: SelectSyntax
    private var filters: [Expression] = []
    private var gates: [Expression] = []
    private var matches: [(key: Expression, value: Expression)] = []

    /// Compiles a query from its text.
    ///
    /// - Parameter text: The SQL.
    /// - Returns: The query.
    /// - Throws: `QueryError` at the place of what is wrong or not supported.
    static func compile(_ text: String) throws(QueryError) -> CompiledQuery {
        var compiler = QueryCompiler(select: try QueryParser.parse(text))
        return try compiler.compile()
    }

    private init(select: SelectSyntax) { self.select = select }

    private mutating func compile() throws(QueryError) -> CompiledQuery {
        let source = select.source
        guard !source.table.contains("%"), source.schema?.contains("%") != true else {
            throw QueryError(
                message: "Wildcards in table names are not supported by this service.", offset: source.offset)
        }
        // A schema may carry the tag of the connection, of which there is one: "default.public".
        var schema = source.schema ?? "public"
        if schema.hasPrefix("default.") { schema.removeFirst("default.".count) }
        let outputs = try select.items.map { (item) throws(QueryError) in try output(item) }
        if let condition = select.condition { try add(condition) }
        // The real service orders the values of a name by a hash; descending names agree with all that was
        // recorded.
        var keys: [(key: Expression, values: [Expression])] = []
        for match in matches {
            if let index = keys.firstIndex(where: { $0.key == match.key }) {
                keys[index].values.append(match.value)
            } else {
                keys.append((match.key, [match.value]))
            }
        }
        keys.sort { Self.name($0.key) > Self.name($1.key) }
        return CompiledQuery(
            processor: RowProcessor(
                schema: ExactText(schema), table: ExactText(source.table),
                outputTable: ExactText(source.alias ?? source.table),
                outputs: outputs,
                filters: filters, partitionKeys: keys.map(\.key)),
            gates: gates, keys: keys.map(\.values))
    }

    private static func name(_ expression: Expression) -> String {
        if case .column(let name) = expression { name.text } else { "" }
    }

    private func output(_ item: SelectSyntax.Item) throws(QueryError) -> RowProcessor.Output {
        switch item.content {
        case .all(let qualifier):
            if let qualifier { try check(qualifier, item.offset) }
            return .allColumns
        case .expression(let syntax, let alias):
            let expression = try resolve(syntax)
            guard !expression.dependencies.contains(.request) else {
                throw QueryError(
                    message:
                        "This attempts to sync a connection parameter. Only values from the source database "
                        + "can be synced.", offset: item.offset)
            }
            if let alias { return .column(expression, name: ExactText(alias)) }
            guard case .column(let name) = expression else {
                throw QueryError(
                    message: "The name of this column is unspecified, consider adding an alias.",
                    offset: item.offset)
            }
            return .column(expression, name: name)
        }
    }

    /// Adds a condition that must hold, taking AND apart.
    private mutating func add(_ syntax: ExpressionSyntax) throws(QueryError) {
        if case .and(let left, let right) = syntax.content {
            try add(left)
            try add(right)
            return
        }
        if case .comparison(.equal, let left, let right) = syntax.content {
            let sides = (try resolve(left), try resolve(right))
            if sides.0.dependencies == .row, sides.1.dependencies == .request {
                return matches.append((sides.0, sides.1))
            }
            if sides.0.dependencies == .request, sides.1.dependencies == .row {
                return matches.append((sides.1, sides.0))
            }
        }
        let condition = try resolve(syntax)
        if condition.dependencies == .request { gates.append(condition) } else { filters.append(condition) }
    }

    /// Looks up the names of an expression; one that mixes row and request in anything but a match is an
    /// error.
    private func resolve(_ syntax: ExpressionSyntax) throws(QueryError) -> Expression {
        switch syntax.content {
        case .literal(let value): return .literal(value)
        case .column(let qualifier, let name):
            if let qualifier { try check(qualifier, syntax.offset) }
            return .column(ExactText(name))
        case .call(let schema, let name, let arguments):
            return .parameter(try parameter(schema, name, arguments, syntax.offset))
        case .comparison(let comparison, let left, let right):
            return try pair(left, right, syntax.offset) { .comparison(comparison, $0, $1) }
        case .and(let left, let right): return try pair(left, right, syntax.offset) { .and($0, $1) }
        case .or(let left, let right): return try pair(left, right, syntax.offset) { .or($0, $1) }
        case .not(let inner): return .not(try resolve(inner))
        case .isNull(let inner): return .isNull(try resolve(inner))
        }
    }

    private func pair(
        _ left: ExpressionSyntax, _ right: ExpressionSyntax, _ offset: Int,
        _ make: (Expression, Expression) -> Expression
    ) throws(QueryError) -> Expression {
        let sides = (try resolve(left), try resolve(right))
        guard sides.0.dependencies.union(sides.1.dependencies) == [.row, .request] else {
            return make(sides.0, sides.1)
        }
        let names = ["row data", "connection parameters"]
        let first = sides.0.dependencies == .row ? 0 : 1
        throw QueryError(
            message: "This expression already references \(names[first]), so it can't also reference "
                + "\(names[1 - first]) unless the two are compared with an equals operator.", offset: offset)
    }

    private func check(_ qualifier: String, _ offset: Int) throws(QueryError) {
        guard ExactText(qualifier) == ExactText(select.source.alias ?? select.source.table) else {
            throw QueryError(
                message: "Table '\(qualifier)' has not been added in a FROM clause here.", offset: offset)
        }
    }

    private func parameter(
        _ schema: String?, _ name: String, _ arguments: [ExpressionSyntax], _ offset: Int
    ) throws(QueryError) -> RequestParameter {
        guard let schema else {
            throw QueryError(
                message: "Unknown function, or one that is not supported by this service: \(name)",
                offset: offset)
        }
        guard let source = RequestParameter.Source(rawValue: schema) else {
            throw QueryError(message: "Invalid schema in function name", offset: offset)
        }
        switch name {
        case "user_id":
            guard source == .auth else {
                throw QueryError(message: ".user_id() is only available on auth schema", offset: offset)
            }
            guard arguments.isEmpty else {
                throw QueryError(message: "Expected no arguments here", offset: offset)
            }
            return .userID
        case "parameter":
            guard arguments.count == 1 else {
                throw QueryError(message: "Expected a single argument here", offset: offset)
            }
            guard case .literal(let value) = arguments[0].content, let argument = value.text else {
                throw QueryError(
                    message: "The name of a parameter must be a text in single quotes.",
                    offset: arguments[0].offset)
            }
            return RequestParameter(source, argument: argument)
        case "parameters":
            throw QueryError(
                message:
                    "\(schema).parameters() is not supported by this service, use \(schema).parameter('name').",
                offset: offset)
        default: throw QueryError(message: "Unknown request function", offset: offset)
        }
    }
}
