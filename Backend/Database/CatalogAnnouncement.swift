/// How a database says that tables have changed: event triggers that notify (backend 8.5).
///
/// Whoever may make none can say `NOTIFY psb_catalog` at the end of a migration.
package enum CatalogAnnouncement {
    /// The channel, which sessions listen on.
    package static let channel = "psb_catalog"
    /// The function in the schema `psb`.
    static let function = "announce_catalog"
    /// The event triggers; sql_drop alone tells what a DROP … CASCADE took along.
    static let events = ["psb_catalog": "ddl_command_end", "psb_catalog_drop": "sql_drop"]

    /// What changes anything that uploads depend on; a database has no end of other commands.
    private static let tags = [
        "ALTER DOMAIN", "ALTER FOREIGN TABLE", "ALTER INDEX", "ALTER PUBLICATION", "ALTER SCHEMA",
        "ALTER TABLE",
        "ALTER TYPE", "ALTER VIEW", "CREATE FOREIGN TABLE", "CREATE INDEX", "CREATE PUBLICATION",
        "CREATE SCHEMA",
        "CREATE TABLE", "CREATE TABLE AS", "CREATE VIEW", "IMPORT FOREIGN SCHEMA", "SELECT INTO",
    ]

    /// Makes function and triggers anew.
    ///
    /// The function runs with the rights of whoever changes a table, superusers too, so that it must belong to the role that
    /// makes the triggers: one of the schema's owner is not replaced, which would leave it to that owner, but dropped.
    /// It lies in psb and goes with it, and takes the triggers along.
    /// It must never be why a command fails: a transaction that has notified cannot be prepared, so it says nothing where
    /// transactions may be, and whatever error there is leaves the change to the poll.
    static var sql: String {
        let triggers = events.sorted { $0.key < $1.key }.map { name, event in
            let condition =
                event == "ddl_command_end"
                ? " WHEN TAG IN (\(tags.map { "'\($0)'" }.joined(separator: ", ")))" : ""
            return "CREATE EVENT TRIGGER \(name) ON \(event)\(condition) EXECUTE FUNCTION psb.\(function)();"
        }
        return """
            DROP FUNCTION IF EXISTS psb.\(function)() CASCADE;
            CREATE FUNCTION psb.\(function)() RETURNS event_trigger LANGUAGE plpgsql
            SET search_path = pg_catalog, pg_temp AS $$
            BEGIN
                IF current_setting('max_prepared_transactions') <> '0' THEN RETURN; END IF;
                IF TG_EVENT = 'sql_drop' THEN
                    PERFORM FROM pg_event_trigger_dropped_objects() AS o WHERE NOT o.is_temporary;
                ELSE
                    PERFORM FROM pg_event_trigger_ddl_commands() AS c WHERE c.schema_name IS DISTINCT FROM 'pg_temp';
                END IF;
                IF FOUND THEN NOTIFY \(channel); END IF;
            EXCEPTION WHEN OTHERS THEN RETURN;
            END $$;
            \(triggers.joined(separator: "\n"))
            """
    }
}
