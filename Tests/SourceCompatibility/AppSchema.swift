import PowerSync

/// The lists of a user.
///
/// The column `id` is there without being declared.
let listTable = Table(
    name: "lists",
    columns: [
        .text("owner_id"),
        .text("name"),
        .text("created_at"),
    ]
)

/// What is to be done.
let todoTable = Table(
    name: "todos",
    columns: [
        Column.text("list_id"),
        Column.text("owner_id"),
        Column.text("description"),
        Column.integer("completed"),
    ],
    indexes: [
        Index(
            name: "list",
            columns: [IndexedColumn.ascending("list_id"), IndexedColumn.descending("description")]
        ),
        Index.ascending(name: "owner", column: "owner_id"),
    ],
    trackPreviousValues: TrackPreviousValuesOptions(columnFilter: ["completed"], onlyWhenChanged: true)
)

/// A table that the app makes itself, with a statement of its own to write a row.
let labelTable = RawTable(
    name: "labels",
    schema: RawTableSchema(),
    put: PendingStatement(
        sql: """
            INSERT INTO labels (id, owner_id, name) VALUES (?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET owner_id = excluded.owner_id, name = excluded.name
            """,
        parameters: [.id, .column("owner_id"), .column("name")]
    ),
    clear: "DELETE FROM labels"
)

/// All tables of the app.
let appSchema = Schema(listTable, todoTable, labelTable)
