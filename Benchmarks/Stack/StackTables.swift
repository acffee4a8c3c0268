/// The tables of a world, and what its parts are told about them.
struct StackTables: Sendable {
    /// The tables in Postgres, with their rows.
    let sql: String
    /// What goes to whom.
    let syncConfig: String
    /// What the backend may write.
    let tableMap: String
    /// The tables of a client, as the file that the tool takes.
    let clientSchema: String
    /// More environment of the backend.
    var backendEnvironment: [String: String] = [:]

    /// Items that everybody gets, and notes of a user.
    static func items(_ count: Int) -> StackTables {
        StackTables(
            sql: StackApp.sql(items: count), syncConfig: StackApp.syncConfig, tableMap: StackApp.tableMap,
            clientSchema: StackApp.clientSchema)
    }

    /// Pictures of users, as many as the disk has room for.
    static let pictures = StackTables(
        sql: """
            CREATE TABLE pictures(id text PRIMARY KEY, owner_id text NOT NULL, picture_id text);
            CREATE INDEX pictures_picture ON pictures (picture_id);
            """,
        syncConfig: """
            config:
              edition: 3
            streams:
              mine:
                auto_subscribe: true
                query: SELECT * FROM pictures WHERE owner_id = auth.user_id()

            """,
        tableMap: "tables: {pictures: {owner: owner_id, attachments: [picture_id]}}\n",
        clientSchema: #"{"tables":[{"name":"pictures","columns":[{"name":"picture_id","type":"text"}]}]}"#,
        backendEnvironment: [
            "ATTACHMENTS_QUOTA_BYTES": String(1 << 50), "ATTACHMENTS_QUOTA_FILES": "1000000000",
        ])
}
