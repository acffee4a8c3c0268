import PowerSyncPostgres
import PowerSyncWire

extension Catalog {
    /// Reads the catalog of the connection's database, in five queries of one moment.
    ///
    /// - Parameters:
    ///   - connection: the connection, outside a transaction; its database has the schema psb.
    ///   - writer: the role whose rights count; nil for that of the connection.
    /// - Throws: `PostgresError`.
    package init(reading connection: PostgresConnection, as writer: DatabaseRole? = nil) async throws {
        self.init()
        // Which types are named with their schema is the setting's to say: as where the names are used (`SessionSettings`).
        try await connection.script(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL search_path = pg_catalog, public, pg_temp"
        )
        // Before what they are of: VACUUM changes rows of the catalog in place, which no snapshot hides. Another digest than
        // that of now has the plan made anew; another plan than its digest would be kept.
        let digests = try await connection.query(CatalogSQL.digests, [writer?.name])
        try await readTypes(connection)
        try await readTables(connection, writer)
        try await readReferences(connection)
        take(digests)
        try await readPublication(connection)
        try await connection.script("COMMIT")
    }

    private mutating func readTypes(_ connection: PostgresConnection) async throws {
        let types = try await connection.query(CatalogSQL.types)
        for row in 0..<types.rowCount {
            guard let oid = types[row, 0].flatMap({ UInt32($0) }), let name = types[row, 1] else { continue }
            self.types[oid] = TypeEntry(
                name: name, kind: types[row, 2] ?? "", element: types[row, 3].flatMap { UInt32($0) } ?? 0,
                base: types[row, 4].flatMap { UInt32($0) } ?? 0,
                modifier: types[row, 5].flatMap { Int($0) } ?? -1)
        }
    }

    private mutating func readTables(
        _ connection: PostgresConnection, _ writer: DatabaseRole?
    ) async throws {
        let columns = try await connection.query(CatalogSQL.columns, [writer?.name])
        for row in 0..<columns.rowCount {
            guard let schema = columns[row, 0], let table = columns[row, 1], let name = columns[row, 3],
                let type = columns[row, 4], let oid = columns[row, 5].flatMap({ UInt32($0) })
            else { continue }
            var entry = tables[Name(schema: schema, table: table)] ?? Table()
            entry.isView = columns[row, 2] == "v"
            entry.takesUpserts = columns[row, 11] == "t"
            entry.mayBeLocked = columns[row, 12] == "t"
            entry.mayHoldRows = columns[row, 13] == "t"
            entry.hasRowSecurity = columns[row, 14] == "t"
            entry.showsNoOrder = columns[row, 15] == "t"
            entry.isLockable = columns[row, 2] == "r" || columns[row, 2] == "p"
            entry.columns.append(
                Column(
                    name: name, type: type, typeOID: oid, modifier: columns[row, 6].flatMap { Int($0) } ?? -1,
                    isGenerated: columns[row, 7] == "t", isRequired: columns[row, 9] == "t",
                    isDeterministic: columns[row, 10] != "f", showsOrder: columns[row, 16] != "f",
                    leavesDefaultToDomain: columns[row, 17] == "t"))
            if columns[row, 8] == "t" { entry.uniqueColumns.insert(ExactText(name)) }
            tables[Name(schema: schema, table: table)] = entry
        }
    }

    private mutating func readReferences(_ connection: PostgresConnection) async throws {
        let columns = try await connection.query(CatalogSQL.references)
        var last: String?
        for row in 0..<columns.rowCount {
            guard let key = columns[row, 0], let schema = columns[row, 1], let table = columns[row, 2],
                let otherSchema = columns[row, 3], let other = columns[row, 4], let column = columns[row, 5]
            else { continue }
            let name = Name(schema: schema, table: table)
            guard var references = tables[name]?.references else { continue }
            if key == last, let index = references.indices.last {
                references[index].columns.append(column)
            } else {
                let parent = Name(schema: otherSchema, table: other)
                references.append(Reference(columns: [column], table: parent))
            }
            tables[name]?.references = references
            last = key
        }
    }

    private mutating func take(_ digests: PostgresResult) {
        for row in 0..<digests.rowCount {
            guard let schema = digests[row, 0], let table = digests[row, 1] else { continue }
            tables[Name(schema: schema, table: table)]?.digest = digests[row, 2]
        }
    }

    private mutating func readPublication(_ connection: PostgresConnection) async throws {
        let published = try await connection.query(CatalogSQL.published)
        guard published.rowCount > 0 else { return }
        self.published = (0..<published.rowCount).compactMap { row in
            guard let schema = published[row, 0], let table = published[row, 1] else { return nil }
            return Name(schema: schema, table: table)
        }
    }
}

/// The questions put to the catalog; a parameter is the role whose rights count, NULL that of the connection.
enum CatalogSQL {
    static let types = """
        SELECT oid::text, typname, typtype::text, CASE WHEN typcategory = 'A' THEN typelem ELSE 0 END::text,
            typbasetype::text, typtypmod::text
        FROM pg_catalog.pg_type WHERE typtype <> 'p'
        """

    /// A unique index counts if an upsert can name it: one column, no predicate, not deferrable.
    ///
    /// A view takes upserts if UPDATE (4) and INSERT (8) go through it, and no trigger does INSERT (4) INSTEAD OF (64) it.
    ///
    /// What shows the order of rows is told by what `psb.table_digest` is made of, so that a plan with another answer is
    /// refused. Foreign keys have triggers on both sides. Below 16384 is what comes with Postgres.
    static let columns = """
        SELECT n.nspname, c.relname, c.relkind::text, a.attname, pg_catalog.format_type(a.atttypid, -1),
            a.atttypid::oid::text, a.atttypmod::text, a.attgenerated <> '' OR a.attidentity = 'a',
            EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid
                AND i.indimmediate AND i.indpred IS NULL AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum),
            a.attnotnull AND NOT a.atthasdef AND a.attidentity = ''
                AND (SELECT y.typdefault IS NULL FROM pg_catalog.pg_type y WHERE y.oid = a.atttypid)
                AND pg_catalog.has_column_privilege(coalesce($1::name, current_user), c.oid, a.attnum, 'SELECT')
                AND pg_catalog.has_column_privilege(coalesce($1::name, current_user), c.oid, a.attnum, 'INSERT'),
            (SELECT o.collisdeterministic FROM pg_catalog.pg_collation o WHERE o.oid = a.attcollation),
            c.relkind <> 'v' OR pg_catalog.pg_relation_is_updatable(c.oid, false) & 12 = 12
                AND NOT EXISTS (SELECT FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND g.tgtype & 68 = 68),
            pg_catalog.has_table_privilege(coalesce($1::name, current_user), c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE'),
            pg_catalog.has_any_column_privilege(coalesce($1::name, current_user), c.oid, 'UPDATE'), c.relrowsecurity,
            c.relkind = 'r' AND NOT c.relhastriggers AND NOT c.relhasrules AND NOT c.relrowsecurity AND c.relchecks = 0
                AND (SELECT count(*) FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid
                    AND (i.indisunique OR i.indisexclusion)) = 1 AND q.are_plain,
            a.attgenerated <> '' OR a.attidentity <> '' OR a.atthasdef AND EXISTS (
                SELECT FROM pg_catalog.pg_attrdef d WHERE d.adrelid = c.oid AND d.adnum = a.attnum AND (
                    d.adbin::text ~ '[{](?!CONST |FUNCEXPR |OPEXPR |RELABELTYPE |SQLVALUEFUNCTION )'
                    OR EXISTS (SELECT FROM pg_catalog.regexp_matches(d.adbin::text, ':(?:op)?funcid ([0-9]+)', 'g') AS m(ids)
                        LEFT JOIN pg_catalog.pg_proc f ON f.oid = m.ids[1]::oid AND f.oid < 16384
                            AND (f.provolatile = 'i' OR f.proname IN ('now', 'timestamp', 'date', 'gen_random_uuid'))
                        WHERE f.oid IS NULL))),
            NOT a.atthasdef AND a.attidentity = ''
                AND (SELECT y.typtype = 'd' FROM pg_catalog.pg_type y WHERE y.oid = a.atttypid)
        FROM pg_catalog.pg_attribute a
        JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
        JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        JOIN (SELECT b.attrelid, bool_and(y.oid < 16384 OR y.typtype = 'e'
                OR y.typtype = 'b' AND coalesce(e.typtype IN ('b', 'e'), true)) AS are_plain
            FROM pg_catalog.pg_attribute b JOIN pg_catalog.pg_type y ON y.oid = b.atttypid
            LEFT JOIN pg_catalog.pg_type e ON e.oid = y.typelem
            WHERE b.attnum > 0 AND NOT b.attisdropped GROUP BY b.attrelid) AS q ON q.attrelid = c.oid
        WHERE c.relkind IN ('r', 'p', 'v', 'f') AND a.attnum > 0 AND NOT a.attisdropped
            AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'psb') AND n.nspname NOT LIKE 'pg\\_%'
        ORDER BY n.nspname, c.relname, a.attnum
        """

    /// The columns of foreign keys, each key's in its order.
    static let references = """
        SELECT k.oid::text, n.nspname, c.relname, m.nspname, p.relname, a.attname
        FROM pg_catalog.pg_constraint k
        JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_catalog.pg_class p ON p.oid = k.confrelid JOIN pg_catalog.pg_namespace m ON m.oid = p.relnamespace
        CROSS JOIN LATERAL pg_catalog.unnest(k.conkey) WITH ORDINALITY AS u(attnum, place)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.attnum
        WHERE k.contype = 'f' AND k.conparentid = 0
        ORDER BY n.nspname, c.relname, k.conname, k.oid, u.place
        """

    static let digests = """
        SELECT n.nspname, c.relname, psb.table_digest(n.nspname, c.relname, $1::name)
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'p', 'v', 'f')
            AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'psb') AND n.nspname NOT LIKE 'pg\\_%'
        """

    /// One row of NULLs where the publication exists without tables.
    static let published = """
        SELECT t.schemaname, t.tablename FROM pg_catalog.pg_publication p
        LEFT JOIN pg_catalog.pg_publication_tables t ON t.pubname = p.pubname
        WHERE p.pubname = 'powersync' ORDER BY 1, 2
        """
}
