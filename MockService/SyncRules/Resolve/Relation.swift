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
        case columns(ColumnList)
    }

    /// Its name in the query: the alias, or that of the table or function.
    let name: ExactText
    /// What it is.
    let content: Content
    /// Where it stands; with an alias behind AS, of one without AS the table alone, as recorded.
    let site: Site
    /// Alias and table if rows are synced under another name than the table has, without quotes.
    let rename: (alias: ExactText, table: ExactText)?

    /// Whether it is of the schema that a pattern names.
    func isInSchema(of pattern: TablePattern) -> Bool {
        guard case .row(_, let own, _) = content else { return false }
        return own.tag == pattern.tag && own.schema == pattern.schema
    }
}

/// The columns of a SELECT, each name once.
struct ColumnList {
    /// The names in order.
    private(set) var names: [ExactText] = []
    private var values: [ExactText: Located] = [:]
    private var extents: [ExactText: (size: Int, depth: Int)] = [:]

    /// Adds a column; false if there is one of the name already.
    mutating func add(_ name: ExactText, _ value: Located) -> Bool {
        guard values[name] == nil else { return false }
        values[name] = value
        // Looked up at each use, and then known: a column of a column of a column may be very large.
        extents[name] = value.expression.extent
        names.append(name)
        return true
    }

    /// How many expressions and levels a column brings where it is used.
    func extent(of name: ExactText) -> (size: Int, depth: Int) { extents[name] ?? (1, 1) }

    /// The value of a column; nil if there is none of the name.
    subscript(name: ExactText) -> Located? { values[name] }

    /// All columns in order.
    var all: [(name: ExactText, value: Located)] {
        names.compactMap { name in values[name].map { (name, $0) } }
    }
}

/// The names that an expression may use: those of its query first, then those of the queries around it.
struct Scope {
    /// The names of one query.
    private struct Level {
        var relations: [Relation] = []
        var places: [ExactText: Int] = [:]
    }

    /// Those of each query, the innermost one last.
    private var levels: [Level] = []

    /// No query.
    init() {}

    /// The names of the innermost query.
    var own: [Relation] { levels.last?.relations ?? [] }

    /// That of a query within it, without names yet.
    func inner() -> Scope {
        var scope = self
        scope.levels.append(Level())
        return scope
    }

    /// Adds a name; false if the query has it already.
    mutating func add(_ relation: Relation) -> Bool {
        let last = levels.count - 1
        guard levels[last].places[relation.name] == nil else { return false }
        levels[last].places[relation.name] = levels[last].relations.count
        levels[last].relations.append(relation)
        return true
    }

    /// What a name stands for.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - pattern: Names the schema that stands before it; nil if none does.
    /// - Returns: What it stands for; nil if there is no such thing.
    func relation(_ name: ExactText, in pattern: TablePattern? = nil) -> Relation? {
        for level in levels.reversed() {
            guard let place = level.places[name] else { continue }
            let found = level.relations[place]
            if pattern.map({ found.isInSchema(of: $0) }) ?? true { return found }
        }
        return nil
    }
}
