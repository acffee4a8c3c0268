import PowerSyncWire

/// Makes rows of some tables members of buckets.
package struct RowProcessor: Sendable, Hashable {
    /// What a row looks like on the client.
    package enum Output: Sendable, Hashable {
        /// All columns of the row.
        case allColumns
        /// One value under a name.
        case column(Expression, name: ExactText)
    }

    /// What the client's table is called.
    package enum OutputType: Sendable, Hashable {
        /// A name of the configuration: the alias, or the table's.
        case named(ExactText)
        /// The name of the table that the row is of, for a wildcard without alias.
        case table

        /// That of the rows of a table, or of all that a wildcard stands for, with the alias that it has.
        init(of pattern: TablePattern, _ name: NameSyntax, alias: NameSyntax?) {
            let known = alias ?? (pattern.name.isWildcard ? nil : name)
            self = known.map { Self.named($0.text) } ?? .table
        }
    }

    /// The tables.
    package let table: TablePattern
    /// What the client's table is called.
    package let type: OutputType
    /// The `json_each` over the row; each element of their cross product, in order, is a row of its own.
    package let expansions: [Expression]
    /// What must hold.
    package let filters: [Expression]
    /// The values of the bucket's name.
    package let keys: [Expression]
    /// The client's columns.
    package let outputs: [Output]
    /// What `*` and columns of one name mean.
    package let form: OutputForm

    /// Makes a processor of its parts.
    package init(
        table: TablePattern, type: OutputType, expansions: [Expression] = [], filters: [Expression] = [],
        keys: [Expression] = [], outputs: [Output], form: OutputForm
    ) {
        self.table = table
        self.type = type
        self.expansions = expansions
        self.filters = filters
        self.keys = keys
        self.outputs = outputs
        self.form = form
    }
}

extension RowProcessor {
    /// What computes columns of its output, as editions 1 and 2 have them.
    ///
    /// - Parameter names: The columns; one that it does not have is NULL.
    /// - Returns: A lookup without keys, which finds their values.
    func values(of names: [ExactText]) -> LookupDefinition {
        LookupDefinition(
            name: ExactText(""), table: table, expansions: expansions, filters: filters, keys: [],
            outputs: names.map { value(of: $0) ?? .literal(.null) })
    }

    /// The value of a column: the last one of its name, but `*` gives way to one that is not NULL.
    private func value(of name: ExactText) -> Expression? {
        var value: Expression?
        for output in outputs {
            switch output {
            case .column(let expression, let column): if column == name { value = expression }
            case .allColumns:
                let column = Expression.column(.row(0), name)
                if let first = value {
                    value = Expression.call(.ifnull, [first, column])
                } else {
                    value = column
                }
            }
        }
        return value
    }
}

/// What `*`, columns of one name and keys that are NULL mean, by edition (service 6.4, 6.6).
package struct OutputForm: OptionSet, Sendable, Hashable {
    /// The bits.
    package let rawValue: Int

    /// Makes a form of its bits.
    package init(rawValue: Int) { self.rawValue = rawValue }

    /// A column with an alias wins over `*`, unless its value is NULL or not there; else the later one wins.
    package static let aliasWins = OutputForm(rawValue: 1)
    /// `*` leaves out columns whose names begin with an underscore.
    package static let skipsUnderscores = OutputForm(rawValue: 2)
    /// A column without a name is an error; else its text is its name.
    package static let needsNames = OutputForm(rawValue: 4)

    /// A key that is NULL is spelled `null` in the bucket's name; else the row is in no bucket.
    package static let listsNull = OutputForm(rawValue: 8)

    /// That of an edition.
    package static func edition(_ edition: Int) -> OutputForm {
        edition >= 3 ? [] : [.aliasWins, .skipsUnderscores, .needsNames]
    }
}
