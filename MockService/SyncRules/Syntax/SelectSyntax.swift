/// A SELECT as it is written, before its names are looked up.
package struct SelectSyntax: Sendable, Hashable {
    /// A column of the result.
    package struct Item: Sendable, Hashable {
        /// The value; `star` for all columns.
        package let expression: ExpressionSyntax
        /// Its name.
        package let alias: NameSyntax?
        /// Whether AS stands before the alias.
        package let hasAs: Bool

        /// Where it stands in messages, in bytes of the SQL: an alias without AS has no place, as recorded.
        var namedRange: Range<Int> { hasAs ? range : expression.range }

        /// Where it stands with its alias, in bytes of the SQL.
        package var range: Range<Int> {
            expression.range.lowerBound..<(alias?.range.upperBound ?? expression.range.upperBound)
        }
    }

    /// What is written and not supported.
    package struct Clause: Sendable, Hashable {
        /// What messages call it: `GROUP BY`, `ORDER BY`, `LIMIT`, `HAVING`, `SKIP`.
        package let name: String
        /// Where messages point: its first expression, of OFFSET and FETCH the clause, too.
        package let range: Range<Int>
    }

    /// Whether equal rows count once.
    package let isDistinct: Bool
    /// The columns of the result; none for `SELECT FROM t`.
    package let items: [Item]
    /// What stands in FROM, in order.
    package let sources: [SourceSyntax]
    /// What stands behind WHERE.
    package let condition: ExpressionSyntax?
    /// What is written and not supported, in order.
    package let clauses: [Clause]
    /// Where `UPDATE` or `SHARE` of a lock stands.
    package let lock: Range<Int>?
    /// From its first word to its last leaf, in bytes of the SQL.
    package let range: Range<Int>

    /// How many levels it has, at most `SyntaxLimits.depth`.
    package var depth: Int {
        let expressions =
            items.map(\.expression) + sources.flatMap(\.expressions) + (condition.map { [$0] } ?? [])
        let selects = sources.compactMap { source -> SelectSyntax? in
            if case .select(let select, _) = source.content { select } else { nil }
        }
        return 1 + max(expressions.lazy.map(\.depth).max() ?? 0, selects.lazy.map(\.depth).max() ?? 0)
    }
}

/// A part of FROM.
package struct SourceSyntax: Sendable, Hashable {
    /// What it is.
    package indirect enum Content: Sendable, Hashable {
        /// A table or a common table expression.
        case table(schema: NameSyntax?, name: NameSyntax)
        /// A function with rows, and where it stands with its parenthesis.
        case call(CallSyntax, Range<Int>)
        /// A SELECT in parentheses, and where it stands with them.
        case select(SelectSyntax, Range<Int>)
        /// Several SELECTs that UNION joins, in parentheses, and where they stand with them.
        case union(Range<Int>)
    }

    /// How it is joined to what stands before it.
    package enum Join: String, Sendable, Hashable {
        /// Nothing stands before it.
        case none = ""
        /// A comma.
        case comma = ","
        /// `JOIN`, `INNER JOIN`.
        case inner = "INNER JOIN"
        /// `CROSS JOIN`.
        case cross = "CROSS JOIN"
        /// `LEFT JOIN`.
        case left = "LEFT JOIN"
        /// `RIGHT JOIN`.
        case right = "RIGHT JOIN"
        /// `FULL JOIN`.
        case full = "FULL JOIN"
    }

    /// What it is.
    package let content: Content
    /// Its name in the query.
    package let alias: NameSyntax?
    /// Whether AS stands before the alias.
    package let hasAs: Bool
    /// Names of its columns behind the alias.
    package let columns: [NameSyntax]
    /// How it is joined to what stands before it.
    package let join: Join
    /// Where the words of the join stand, in bytes of the SQL; empty without any.
    package let joinRange: Range<Int>
    /// What stands behind ON.
    package let condition: ExpressionSyntax?
    /// The columns of USING.
    package let using: [NameSyntax]

    /// Where it stands without its alias, in bytes of the SQL.
    package var contentRange: Range<Int> {
        switch content {
        case .table(let schema, let name): (schema ?? name).range.lowerBound..<name.range.upperBound
        case .call(_, let range), .select(_, let range), .union(let range): range
        }
    }

    /// Where it stands with its alias, in bytes of the SQL.
    package var range: Range<Int> {
        let last = columns.last ?? alias
        return contentRange.lowerBound..<(last?.range.upperBound ?? contentRange.upperBound)
    }

    /// Where it stands in messages, in bytes of the SQL: an alias without AS has no place, as recorded.
    var namedRange: Range<Int> { hasAs ? range : contentRange }

    /// Where its last leaf ends: that of ON or USING if it has one.
    var end: Int {
        condition?.range.upperBound ?? using.last?.range.upperBound ?? namedRange.upperBound
    }

    /// The expressions in it, but for those of a SELECT.
    var expressions: [ExpressionSyntax] {
        var all: [ExpressionSyntax] = []
        if case .call(let call, _) = content { all += call.arguments }
        if let condition { all.append(condition) }
        return all
    }
}

/// One of the statements of a text.
package enum StatementSyntax: Sendable, Hashable {
    /// A SELECT, and where the statement stands up to its last parenthesis.
    case select(SelectSyntax, Range<Int>)
    /// A UNION of several, and where it stands.
    case union(Range<Int>)
    /// Something else, and where it stands.
    case other(Range<Int>)

    /// Where it stands, in bytes of the SQL, without a semicolon.
    package var range: Range<Int> {
        switch self {
        case .select(_, let range), .union(let range), .other(let range): range
        }
    }
}
