import PowerSyncPostgres
import PowerSyncServiceEngine
import PowerSyncWire

/// Reads rows again of which the stream left out a value that the state does not know (service 7.5).
///
/// The stream is behind the source: the table may have another name and other columns by now, or be gone. A row is read
/// as it is now, under the identity by which the state knows it. Rows of one table are read one by one, so that it can be
/// altered in between.
struct RowReselection {
    let connection: PostgresConnection
    let types: TypeCatalog
    /// The tables of which rows were read, by id.
    private var tables: [UInt32: (table: SourceTable, state: TableState, rows: Int)] = [:]

    /// A table as the catalog has it.
    private struct TableState: Equatable {
        let current: SourceCatalog.CurrentTable?
        let published: SourceCatalog.PublishedTable?
    }

    /// Begins to read.
    ///
    /// - Parameters:
    ///   - connection: Nobody else uses it meanwhile.
    ///   - types: The types of now.
    init(connection: PostgresConnection, types: TypeCatalog) {
        self.connection = connection
        self.types = types
    }

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

    private func state(of oid: UInt32) async throws -> TableState {
        let catalog = SourceCatalog(connection)
        guard let current = try await catalog.currentTable(oid: oid) else {
            return TableState(current: nil, published: nil)
        }
        return TableState(current: current, published: try await catalog.table(oid: oid))
    }

    /// The tables that have changed since the first of several rows was read: a later one may be of another table, or have
    /// other values than was said.
    ///
    /// - Returns: The tables, as the rows said.
    /// - Throws: `PostgresError`.
    func altered() async throws -> [SourceTable] {
        var altered: [SourceTable] = []
        for (oid, known) in tables where known.rows > 1 {
            if try await state(of: oid) != known.state { altered.append(known.table) }
        }
        return altered
    }

    /// Reads one row; each table is looked up once.
    ///
    /// - Parameter row: What the stream said of it.
    /// - Returns: What became of it.
    /// - Throws: `PostgresError`.
    mutating func read(_ row: IncompleteRow) async throws -> Found {
        let known = row.table.description
        let state: TableState
        if let looked = tables[known.oid] {
            state = looked.state
        } else {
            state = try await self.state(of: known.oid)
        }
        let rows = tables[known.oid]?.rows ?? 0
        tables[known.oid] = (table: row.table, state: state, rows: rows + 1)
        guard let current = state.current else { return .gone }
        let published = state.published
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
