/// The tables that a service of the measures replicates, and what goes to whom.
struct ServiceTables: Sendable {
    /// The tables in Postgres, with their rows.
    let sql: String
    /// What goes to whom.
    let syncConfig: String

    /// So many items of about 300 bytes that everybody gets, in one bucket, and notes of users, who have none.
    static func items(_ count: Int) -> ServiceTables {
        ServiceTables(sql: StackApp.sql(items: count), syncConfig: StackApp.syncConfig)
    }

    /// The same, and a table that is published, and which nothing of goes to anybody.
    static func itemsAndOthers(_ count: Int) -> ServiceTables {
        ServiceTables(
            sql: StackApp.sql(items: count)
                + "\nCREATE TABLE others(id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY);\n",
            syncConfig: StackApp.syncConfig)
    }

    /// So many rows of about 300 bytes for each of the users u0, u1…, in a bucket of their own.
    static func owned(users: Int, rows: Int) -> ServiceTables {
        ServiceTables(
            sql: """
                CREATE TABLE owned(id text PRIMARY KEY, owner_id text NOT NULL, name text, a text, b text, n int,
                    x double precision);
                INSERT INTO owned SELECT 'id-' || lpad(g::text, 9, '0'), 'u' || g % \(users), 'row ' || g,
                    md5(g::text) || md5((g + 1)::text), repeat(md5(g::text), 4), g, g * 1.5
                FROM generate_series(1, \(users * rows)) g;
                """,
            syncConfig: """
                config:
                  edition: 3
                streams:
                  own:
                    auto_subscribe: true
                    query: SELECT * FROM owned WHERE owner_id = auth.user_id()

                """)
    }
}
