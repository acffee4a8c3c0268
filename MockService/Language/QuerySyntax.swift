import PowerSyncSQLite
import PowerSyncSyncRules

/// A SELECT as it is written, before its names are looked up.
struct SelectSyntax {
    struct Source {
        let schema: String?
        let table: String
        let alias: String?
        let offset: Int
    }

    struct Item {
        enum Content {
            /// `*`, or `name.*`.
            case all(qualifier: String?)
            case expression(ExpressionSyntax, alias: String?)
        }

        let content: Content
        let offset: Int
    }

    let items: [Item]
    let source: Source
    let condition: ExpressionSyntax?
}

/// An expression as it is written, with its place in the query.
struct ExpressionSyntax {
    indirect enum Content {
        case literal(SQLiteValue)
        case column(qualifier: String?, name: String)
        case call(schema: String?, name: String, arguments: [ExpressionSyntax])
        case comparison(Comparison, ExpressionSyntax, ExpressionSyntax)
        case and(ExpressionSyntax, ExpressionSyntax)
        case or(ExpressionSyntax, ExpressionSyntax)
        case not(ExpressionSyntax)
        case isNull(ExpressionSyntax)
    }

    let content: Content
    let offset: Int
}
