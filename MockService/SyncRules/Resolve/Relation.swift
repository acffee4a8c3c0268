import PowerSyncWire

/// What a name in FROM stands for, with its columns.
struct Relation {
    /// What it is.
    enum Content {
        /// Rows of a table; the columns that there are, if that is known.
        case row(Input, TablePattern, known: Set<ExactText>?)
        /// Elements of a `json_each`, or rows of another function, whose columns are not known.
        case elements(Input, isJSON: Bool)
        /// What a common table expression or a SELECT in FROM returns.
        case columns([Column])
    }

    /// A column of a SELECT.
    struct Column {
        /// Its name.
        let name: ExactText
        /// Its value.
        let value: Located
    }

    /// Its name in the query: the alias, or that of the table or function.
    let name: ExactText
    /// What it is.
    let content: Content
    /// Where it stands; with an alias behind AS, of one without AS the table alone, as recorded.
    let site: Site
    /// Alias and table if rows are synced under another name than the table has, without quotes.
    let rename: (alias: ExactText, table: ExactText)?
}

/// The names that an expression may use: those of its query first, then those of the queries around it.
struct Scope {
    /// The names of each query, the innermost one last.
    private(set) var levels: [[Relation]]

    /// No query.
    init() { levels = [] }

    /// The names of the innermost query.
    var own: [Relation] { levels.last ?? [] }

    /// That of a query within it, without names yet.
    func inner() -> Scope {
        var scope = self
        scope.levels.append([])
        return scope
    }

    /// Adds a name; false if the query has it already.
    mutating func add(_ relation: Relation) -> Bool {
        guard !own.contains(where: { $0.name == relation.name }) else { return false }
        levels[levels.count - 1].append(relation)
        return true
    }

    /// What a name stands for.
    func relation(_ name: ExactText) -> Relation? {
        for level in levels.reversed() {
            if let found = level.first(where: { $0.name == name }) { return found }
        }
        return nil
    }
}
