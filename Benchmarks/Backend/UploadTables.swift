/// The tables that uploads of the measures write, all of one shape: an id and four columns that may be null.
struct UploadTables: Sendable {
    /// The columns, the id first.
    static let columns = ["id", "a", "b", "n", "x"]
    /// Which columns are numbers.
    static let numbers: Set = [3, 4]

    /// Their names; the row at the place r of a transaction is one of the table r % count.
    let names: [String]
    /// Whether `a` refers to a row of another table, which clients do not write.
    var hasForeignKeys = false
    /// Whether values are null at random.
    var hasNulls = false

    /// One table, whose rows have all their values.
    static let uniform = UploadTables(names: ["items"])
    /// Three tables with a foreign key each.
    static let mixed = UploadTables(
        names: ["lists", "todos", "notes"], hasForeignKeys: true, hasNulls: true)
    /// The same three without.
    static let plain = UploadTables(names: ["lists", "todos", "notes"], hasNulls: true)

    /// What `a` may be: the ids of the rows that foreign keys name.
    static let kinds = (0..<10).map { "kind-\($0)" }

    /// The tables in Postgres.
    var sql: String {
        let kinds = Self.kinds.map { "('\($0)')" }.joined(separator: ", ")
        let reference = hasForeignKeys ? " REFERENCES kinds" : ""
        return "CREATE TABLE kinds(id text PRIMARY KEY);\nINSERT INTO kinds VALUES \(kinds);\n"
            + names.map { name in
                """
                CREATE TABLE \(name)(id text PRIMARY KEY, a text\(reference), b text, n int, x double precision);

                """
            }.joined()
    }

    /// What the backend may write.
    var tableMap: String { "tables: {\(names.map { "\($0): {}" }.joined(separator: ", "))}\n" }

    /// The least that each table's upsert of one row says.
    var rowUpserts: [String] {
        names.map { "INSERT INTO \($0) (id, a, b, n, x) VALUES ($1, $2, $3, $4, $5)" + Self.conflict }
    }

    /// The least that each table's upsert of many rows says.
    var arrayUpserts: [String] {
        names.map { name in
            "INSERT INTO \(name) (id, a, b, n, x) SELECT u.id, u.a, u.b, u.n, u.x FROM "
                + "unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::float8[]) AS u(id, a, b, n, x)"
                + Self.conflict
        }
    }

    private static let conflict =
        " ON CONFLICT (id) DO UPDATE SET a = excluded.a, b = excluded.b, n = excluded.n, x = excluded.x"
}
