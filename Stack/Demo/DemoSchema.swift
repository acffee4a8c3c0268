import PowerSync

/// The app of the demo: lists and todos, each row its owner's; a todo may have a picture.
package enum DemoSchema {
    /// The tables in Postgres.
    package static let sql = """
        CREATE TABLE lists (
            id uuid PRIMARY KEY,
            owner_id text NOT NULL,
            name text NOT NULL,
            created_at timestamptz NOT NULL DEFAULT now()
        );
        CREATE TABLE todos (
            id uuid PRIMARY KEY,
            list_id uuid NOT NULL REFERENCES lists (id) ON DELETE CASCADE,
            owner_id text NOT NULL,
            description text NOT NULL,
            quantity integer NOT NULL DEFAULT 1 CHECK (quantity > 0),
            completed boolean NOT NULL DEFAULT false,
            photo_id uuid
        );
        CREATE INDEX todos_list ON todos (list_id);
        """

    /// What goes to whom.
    package static let syncConfig = """
        config:
          edition: 3
        streams:
          mine:
            auto_subscribe: true
            queries:
              - SELECT * FROM lists WHERE owner_id = auth.user_id()
              - SELECT * FROM todos WHERE owner_id = auth.user_id()

        """

    /// What the backend may write.
    package static let tableMap = """
        tables:
          lists:
            owner: owner_id
            columns: { created_at: { write: server } }
          todos:
            owner: owner_id
            attachments: [photo_id]

        """

    /// The tables on a device.
    package static let client = Schema(
        Table(name: "lists", columns: [.text("owner_id"), .text("name"), .text("created_at")]),
        Table(
            name: "todos",
            columns: [
                .text("list_id"), .text("owner_id"), .text("description"), .integer("quantity"),
                .integer("completed"), .text("photo_id"),
            ],
            indexes: [.ascending(name: "list", column: "list_id")]),
        createAttachmentTable(name: defaultAttachmentsTableName)
    )

    /// The ids of the pictures that a device is to have.
    static let watchedPictures = "SELECT photo_id FROM todos WHERE photo_id IS NOT NULL"

    /// Every row of a user in Postgres, one text a row, ordered as `rowsOnDevice`.
    static let rowsInPostgres = """
        SELECT concat_ws('|', 'lists', id, owner_id, name,
            to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) COLLATE "C" AS row
        FROM lists WHERE owner_id = $1
        UNION ALL
        SELECT concat_ws('|', 'todos', id, list_id, owner_id, description, quantity, completed::int,
            coalesce(photo_id::text, ''))
        FROM todos WHERE owner_id = $1
        ORDER BY row
        """

    /// Every row on a device, one text a row.
    static let rowsOnDevice = """
        SELECT 'lists|' || id || '|' || owner_id || '|' || name || '|' || coalesce(created_at, 'not yet') AS row
        FROM lists
        UNION ALL
        SELECT 'todos|' || id || '|' || list_id || '|' || owner_id || '|' || description || '|' || quantity || '|'
            || completed || '|' || coalesce(photo_id, '') FROM todos
        ORDER BY row
        """
}
