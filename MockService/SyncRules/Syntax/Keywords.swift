/// The words of SQL that are no names, as recorded.
enum Keywords {
    /// Words that are names only in quotes.
    static let reserved: Set<String> = [
        "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "authorization",
        "binary", "both", "case", "cast", "check", "collate", "collation", "concurrently", "constraint",
        "create", "cross", "current_catalog", "current_date", "current_role", "current_schema",
        "current_time", "current_timestamp", "current_user", "default", "deferrable", "desc", "distinct",
        "do", "else", "end", "except", "false", "fetch", "for", "foreign", "freeze", "from", "full",
        "grant", "group", "having", "ilike", "in", "initially", "inner", "intersect", "into", "is",
        "isnull", "join", "lateral", "leading", "left", "like", "limit", "localtime", "localtimestamp",
        "natural", "not", "notnull", "null", "offset", "on", "only", "or", "order", "outer", "overlaps",
        "placing", "references", "returning", "right", "select", "session_user", "similar", "some",
        "symmetric", "table", "tablesample", "then", "to", "trailing", "true", "union", "user", "using",
        "variadic", "verbose", "when", "where", "window", "with",
    ]

    /// Reserved words that stand for a value; no edition has them.
    static let values: Set<String> = [
        "current_catalog", "current_date", "current_role", "current_schema", "current_time",
        "current_timestamp", "current_user", "default", "localtime", "localtimestamp", "session_user",
        "user",
    ]

    /// Reserved words that a function, and in FROM also a table, may be called.
    static let callables: Set<String> = values.subtracting(["default"]).union(["all", "any", "some"])

    /// Words that begin a statement other than SELECT.
    static let statements: Set<String> = [
        "alter", "begin", "comment", "commit", "create", "deallocate", "delete", "do", "drop", "insert",
        "prepare", "raise", "refresh", "rollback", "set", "show", "start", "tablespace", "truncate",
        "update", "values", "with",
    ]

    /// Words behind which a SELECT goes on, so that no column begins with them.
    static let clauses: Set<String> = [
        "fetch", "for", "from", "group", "limit", "offset", "order", "union", "where",
    ]
}
