import PowerSyncPostgres
import PowerSyncPostgresSource
import PowerSyncPostgresTestSupport
import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// The tables that configurations are checked with.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct SourceSchemaReaderTests {
    /// A column as text: its name, its type for clients, its type in Postgres.
    private func text(_ column: SourceSchema.Column) -> String {
        let types: [(ValueType, String)] = [
            (.text, "text"), (.integer, "integer"), (.real, "real"), (.blob, "blob"),
        ]
        let type = types.first { $0.0 == column.type }?.1 ?? "?"
        return "\(column.name.text) \(type) \(column.sourceType ?? "")"
    }

    @Test func tablesHaveTheTypesThatClientsGet() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let connection = try await TestPostgres.connection(poller)
        // As in cli-admin-setup.json, whose answer the real service gave; and what is no table of one's own.
        try await connection.script(
            """
            CREATE TABLE todos(id uuid PRIMARY KEY, list_id uuid, description text, completed boolean,
                position int, score double precision, tags jsonb, photo bytea, price numeric(10,2));
            CREATE TABLE nokey(a int);
            CREATE SCHEMA "Other";
            CREATE DOMAIN positive AS bigint;
            CREATE TABLE "Other"."Mixed"("At" timestamptz, gone text, n positive, tags int[], r real);
            ALTER TABLE "Other"."Mixed" DROP COLUMN gone;
            CREATE TABLE parted(id int, day date) PARTITION BY RANGE (day);
            CREATE TABLE empty();
            CREATE VIEW seen AS SELECT 1 AS a;
            CREATE TEMP TABLE passing(a int);
            """)
        let schema = try await SourceSchemaReader.read(connection)
        await connection.close()
        let names = schema.tables.map { "\($0.schema.text).\($0.name.text)" }
        #expect(names == ["Other.Mixed", "public.empty", "public.nokey", "public.parted", "public.todos"])
        #expect(
            schema.tables.map { $0.columns.map(text) } == [
                ["At text timestamptz", "n integer positive", "tags text _int4", "r real float4"], [],
                ["a integer int4"], ["id integer int4", "day text date"],
                [
                    "id text uuid", "list_id text uuid", "description text text", "completed integer bool",
                    "position integer int4", "score real float8", "tags text jsonb", "photo blob bytea",
                    "price text numeric",
                ],
            ])
        let todos = schema.tables.last?.columns.compactMap(\.declaredType)
        #expect(todos?.suffix(5) == ["integer", "double precision", "jsonb", "bytea", "numeric(10,2)"])
    }
}
