import PowerSyncPostgres

extension Catalog {
    /// Reads the catalog of the connection's database, in three queries.
    ///
    /// - Parameter connection: the connection, outside a transaction.
    /// - Throws: `PostgresError`.
    package init(reading connection: PostgresConnection) async throws {
        self.init()
        let types = try await connection.query(CatalogSQL.types)
        for row in 0..<types.rowCount {
            guard let oid = types[row, 0].flatMap({ UInt32($0) }), let name = types[row, 1] else { continue }
            self.types[oid] = TypeEntry(
                name: name, kind: types[row, 2] ?? "", element: types[row, 3].flatMap { UInt32($0) } ?? 0,
                base: types[row, 4].flatMap { UInt32($0) } ?? 0,
                modifier: types[row, 5].flatMap { Int($0) } ?? -1)
        }
        let columns = try await connection.query(CatalogSQL.columns)
        for row in 0..<columns.rowCount {
            guard let schema = columns[row, 0], let table = columns[row, 1], let name = columns[row, 3],
                let type = columns[row, 4], let oid = columns[row, 5].flatMap({ UInt32($0) })
            else { continue }
            var entry = tables[Name(schema: schema, table: table)] ?? Table()
            entry.isView = columns[row, 2] == "v"
            entry.columns.append(
                Column(
                    name: name, type: type, typeOID: oid, modifier: columns[row, 6].flatMap { Int($0) } ?? -1,
                    isGenerated: columns[row, 7] == "t"))
            if columns[row, 8] == "t" { entry.uniqueColumns.insert(name) }
            tables[Name(schema: schema, table: table)] = entry
        }
        let published = try await connection.query(CatalogSQL.published)
        guard published.rowCount > 0 else { return }
        self.published = (0..<published.rowCount).compactMap { row in
            guard let schema = published[row, 0], let table = published[row, 1] else { return nil }
            return Name(schema: schema, table: table)
        }
    }
}

/// The questions put to the catalog.
enum CatalogSQL {
    static let types = """
        SELECT oid::text, typname, typtype::text, CASE WHEN typcategory = 'A' THEN typelem ELSE 0 END::text,
            typbasetype::text, typtypmod::text
        FROM pg_catalog.pg_type WHERE typtype <> 'p'
        """

    /// A unique index counts if an upsert can name it: one column, no predicate, not deferrable.
    static let columns = """
        SELECT n.nspname, c.relname, c.relkind::text, a.attname, pg_catalog.format_type(a.atttypid, -1),
            a.atttypid::oid::text, a.atttypmod::text, a.attgenerated <> '' OR a.attidentity = 'a',
            EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid
                AND i.indimmediate AND i.indpred IS NULL AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum)
        FROM pg_catalog.pg_attribute a
        JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
        JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'p', 'v', 'f') AND a.attnum > 0 AND NOT a.attisdropped
            AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'psb') AND n.nspname NOT LIKE 'pg\\_%'
        ORDER BY n.nspname, c.relname, a.attnum
        """

    /// One row of NULLs where the publication exists without tables.
    static let published = """
        SELECT t.schemaname, t.tablename FROM pg_catalog.pg_publication p
        LEFT JOIN pg_catalog.pg_publication_tables t ON t.pubname = p.pubname
        WHERE p.pubname = 'powersync' ORDER BY 1, 2
        """
}
