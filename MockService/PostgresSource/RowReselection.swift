import PowerSyncPostgres
import PowerSyncServiceEngine
import PowerSyncWire

/// Reads rows again of which the stream left out a value that the state does not know (service 7.5).
///
/// The stream is behind the source: the table may have another name and other columns by now, or be gone. A row is read
/// as it is now, under the identity by which the state knows it.
struct RowReselection {
    let connection: PostgresConnection
    let types: TypeCatalog

    /// What became of a row.
    enum Found {
        /// The table with its columns of now, and the row's values, one for each of them.
        case row(SourceTable, [String?])
        /// The row or its table is gone, of which the stream tells the row alone; or Postgres hides it from our role.
        case gone
        /// Rows are identified in another way by now: the row cannot be told from others, and all are to be read anew. The
        /// stream tells of that only with the next change.
        case otherIdentity
    }

    /// Reads one row.
    ///
    /// - Parameter row: What the stream said of it.
    /// - Returns: What became of it.
    /// - Throws: `PostgresError`.
    func read(_ row: IncompleteRow) async throws -> Found {
        let known = row.table.description
        let catalog = SourceCatalog(connection)
        guard let current = try await catalog.currentTable(oid: known.oid) else { return .gone }
        let published = try await catalog.table(oid: known.oid)
        var conditions: [String] = []
        var values: [String?] = []
        for (index, column) in known.columns.enumerated() where column.isIdentity {
            guard let operation = current.equality[ExactText(column.name)],
                index < row.values.count, let value = row.values[index]
            else { return .otherIdentity }
            values.append(value)
            conditions.append("\(quoteIdentifier(column.name)) \(operation) $\(values.count)")
        }
        guard !conditions.isEmpty else { return .otherIdentity }
        let identity = Set(known.columns.filter(\.isIdentity).map { ExactText($0.name) })
        if let filter = published?.filter { conditions.append("(\(filter))") }
        let columns = (published?.description ?? current.description).columns.map {
            SourceColumn(
                name: $0.name, typeOID: $0.typeOID, isIdentity: identity.contains(ExactText($0.name)))
        }
        // The record of the state keeps its name until the stream tells another.
        let description = TableDescription(
            oid: known.oid, schema: known.schema, name: known.name, columns: columns)
        let table = row.table.described(by: description, types)
        // Another type of the identity means other replica ids, under which nothing may be written (service 4.8).
        guard table.identity == row.table.identity else { return .otherIdentity }
        let names = columns.map { quoteIdentifier($0.name) }.joined(separator: ", ")
        let from = quoteIdentifier(current.description.schema, current.description.name)
        let result = try await connection.query(
            "SELECT \(names) FROM ONLY \(from) WHERE \(conditions.joined(separator: " AND "))", values)
        guard result.rowCount == 1 else { return .gone }
        return .row(table, result.row(0))
    }
}
