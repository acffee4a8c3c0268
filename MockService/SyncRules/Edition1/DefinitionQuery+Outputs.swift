import PowerSyncWire

/// The columns that rows have on the client.
extension DefinitionQuery {
    private static let id = ExactText("id")

    /// Reads the columns; what is wrong with one is told, and it is left out.
    ///
    /// - Parameters:
    ///   - select: The query.
    ///   - source: What the value of no column may depend on.
    ///   - message: What is told of one that does.
    /// - Returns: The columns, and whether there is an id among them.
    /// - Throws: `QueryFailure` if one has no name, or is a constant without a value.
    mutating func outputs(
        of select: SelectSyntax, refusing source: DefinitionValue.Source, _ message: DiagnosticName
    ) throws(QueryFailure) -> (columns: [RowProcessor.Output], hasID: Bool) {
        var columns: [RowProcessor.Output] = []
        var hasID = false
        for item in select.items {
            if case .star = item.expression.content {
                columns.append(.allColumns)
                hasID = true
                continue
            }
            let name = try name(of: item)
            hasID = hasID || name == Self.id
            switch try clause(item.expression) {
            case .value(let value)? where value.source == source: tell(message, at: item.expression.range)
            case .value(let value)?: columns.append(.column(value.expression, name: name))
            case .match?: tell(.matchInColumn, at: item.expression.range)
            case nil: break
            }
        }
        return (columns, hasID)
    }
}
