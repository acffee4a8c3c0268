import PowerSyncWire

/// What a query of a bucket definition reads its rows from.
struct DefinitionTable: Sendable, Hashable {
    /// What columns of it are.
    enum Content: Sendable, Hashable {
        /// Columns of a table; those that there are, if that is known.
        case table(TablePattern, known: Set<ExactText>?)
        /// Parts of the elements of a `json_each` of a value of the request.
        case elements
    }

    /// What stands before the names of its columns: the alias, or its own name.
    let name: ExactText
    /// What columns of it are.
    let content: Content

    /// The column of a table that says what stands in the place of a wildcard's `%`.
    private static let suffix = ExactText("_table_suffix")

    /// The value of a column.
    func value(_ column: ExactText) -> DefinitionValue {
        switch content {
        case .table(let pattern, _):
            if pattern.name.isWildcard, column == Self.suffix {
                return DefinitionValue(source: .row, expression: .table(.suffix, .row(0)))
            }
            return DefinitionValue(source: .row, expression: .column(.row(0), column))
        case .elements:
            let part = ElementPart(rawValue: column.text)
            let element = part.map { Expression.element(.element(0), $0) }
            return DefinitionValue(source: .request, expression: element ?? .literal(.null))
        }
    }

    /// Whether it is known to have no such column.
    func lacks(_ column: ExactText) -> Bool {
        switch content {
        case .table(_, let known?): !known.contains(column) && value(column).expression.isColumn
        case .table(_, nil): false
        case .elements: ElementPart(rawValue: column.text) == nil
        }
    }
}

extension Expression {
    /// Whether it is a column of a row.
    fileprivate var isColumn: Bool {
        if case .column = self { true } else { false }
    }
}

extension TablePattern {
    /// Reads a table as it is named in a query; a schema may have the connection's tag before it: `"tag.schema"`.
    init(_ schema: NameSyntax?, _ name: NameSyntax, _ options: CompileOptions) {
        var tag = NamePart.exact(options.defaultTag)
        var part = NamePart.exact(options.defaultSchema)
        if let schema {
            let parts = schema.text.text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { tag = NamePart(ExactText(String(parts[0]))) }
            part = NamePart(ExactText(String(parts[parts.count - 1])))
        }
        self.init(tag: tag, schema: part, name: NamePart(name.text))
    }
}
