import PowerSyncSyncRules
import PowerSyncWire

/// What was parsed, as a text that shows how it hangs together: `(+ a (* b 2))`.
enum SyntaxText {
    /// The text of an expression.
    static func text(_ syntax: ExpressionSyntax) -> String {
        switch syntax.content {
        case .null: return "null"
        case .bool(let value): return "\(value)"
        case .integer(let digits), .real(let digits): return digits
        case .text(let text): return "'\(text)'"
        case .column(let qualifier, let column): return name(qualifier, column)
        case .star(let qualifier): return qualifier.map { "\(name($0)).*" } ?? "*"
        case .call(let call):
            return list(name(call.schema, call.name) + (call.hasClauses ? "!" : ""), call.arguments)
        case .unary(let operation, let inner): return list(operation.rawValue, [inner])
        case .binary(let operation, let left, let right): return list(operation.rawValue, [left, right])
        case .and(let all): return list("AND", all)
        case .or(let all): return list("OR", all)
        case .isCheck(let inner, let what, let isNegated):
            return list((isNegated ? "IS-NOT-" : "IS-") + what.rawValue, [inner])
        case .between(let value, let low, let high, let isNegated):
            return list(isNegated ? "NOT-BETWEEN" : "BETWEEN", [value, low, high])
        case .membership(let left, let right, let isNegated):
            return list(isNegated ? "NOT-IN" : "IN", [left, right])
        case .list(let all): return list("LIST", all)
        case .array(let all): return list("ARRAY", all)
        case .row(let all): return list("ROW", all)
        case .choice(let base, let branches, let otherwise):
            let parts = branches.map { "(\(text($0.condition)) \(text($0.result)))" }
            let first = base.map { " \(text($0))" } ?? ""
            let last = otherwise.map { " else \(text($0))" } ?? ""
            return "(CASE\(first)\(parts.map { " \($0)" }.joined())\(last))"
        case .cast(let inner, let type, _): return "(CAST \(text(inner)) \(type))"
        case .subquery(let select): return "(\(text(select)))"
        case .parameter(let place): return place
        case .unsupported(let parts): return list("?", parts)
        }
    }

    /// The text of a SELECT.
    static func text(_ select: SelectSyntax) -> String {
        var text = select.isDistinct ? "SELECT DISTINCT" : "SELECT"
        for item in select.items {
            text += " " + self.text(item.expression)
            if let alias = item.alias { text += ":" + name(alias) }
        }
        for source in select.sources {
            text += source.join == .none ? " FROM " : " \(source.join.rawValue) "
            switch source.content {
            case .table(let schema, let table): text += name(schema, table)
            case .call(let call, _): text += list(name(call.schema, call.name), call.arguments)
            case .select(let inner, _): text += "(\(self.text(inner)))"
            case .union: text += "(UNION)"
            }
            if let alias = source.alias { text += ":" + name(alias) }
            let columns = source.columns.map { name($0) }
            if !columns.isEmpty { text += "[" + columns.joined(separator: " ") + "]" }
            if let condition = source.condition { text += " ON " + self.text(condition) }
            let using = source.using.map { name($0) }
            if !using.isEmpty { text += " USING " + using.joined(separator: " ") }
        }
        if let condition = select.condition { text += " WHERE " + self.text(condition) }
        for clause in select.clauses { text += " !" + clause.name }
        if select.lock != nil { text += " !FOR" }
        return text
    }

    private static func list(_ head: String, _ parts: [ExpressionSyntax]) -> String {
        "(" + ([head] + parts.map { text($0) }).joined(separator: " ") + ")"
    }

    private static func name(_ qualifier: NameSyntax?, _ name: NameSyntax) -> String {
        (qualifier.map { self.name($0) + "." } ?? "") + self.name(name)
    }

    private static func name(_ name: NameSyntax) -> String {
        (name.isQuoted ? "\"\(name.text.text)\"" : name.text.text) + (name.isFolded ? "^" : "")
    }
}
