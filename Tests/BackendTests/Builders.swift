import PowerSyncBackend
import PowerSyncWire

/// Returns what the body throws, nil if nothing.
func thrown<Value>(_ body: () throws -> Value) -> (any Error)? {
    do {
        _ = try body()
        return nil
    } catch {
        return error
    }
}

extension [Duration] {
    /// What 99 of a hundred do not exceed.
    var percentile99: Duration { sorted()[count * 99 / 100] }
}

extension Duration {
    /// Twice as much.
    ///
    /// Where a request takes next to nothing, two are within the accuracy of the machine.
    var doubled: Duration { Swift.max(self, .milliseconds(5)) * 2 }
}

/// Catalogs, tables and operations with what a test cares about.
enum Build {
    /// A database with `lists(id text, name text, owner_id uuid, n int, body jsonb, at timestamp, total
    /// numeric(10,2))`.
    static var catalog: Catalog {
        var catalog = Catalog()
        let types: [(UInt32, String, String)] = [
            (25, "text", "text"), (2950, "uuid", "uuid"), (23, "int4", "integer"), (3802, "jsonb", "jsonb"),
            (1114, "timestamp", "timestamp without time zone"), (1700, "numeric", "numeric"),
            (142, "xml", "xml"),
        ]
        for (oid, name, _) in types { catalog.types[oid] = Catalog.TypeEntry(name: name) }
        catalog.types[1009] = Catalog.TypeEntry(name: "_text", element: 25)
        catalog.types[90_000] = Catalog.TypeEntry(
            name: "price", kind: "d", base: 1700, modifier: (10 << 16 | 2) + 4)
        func column(
            _ name: String, _ oid: UInt32, _ type: String, modifier: Int = -1, generated: Bool = false,
            required: Bool = false
        ) -> Catalog.Column {
            Catalog.Column(
                name: name, type: type, typeOID: oid, modifier: modifier, isGenerated: generated,
                isRequired: required)
        }
        var lists = Catalog.Table()
        lists.columns = [
            column("id", 25, "text"), column("name", 25, "text"), column("owner_id", 2950, "uuid"),
            column("n", 23, "integer"), column("body", 3802, "jsonb"),
            column("at", 1114, "timestamp without time zone"), column("tags", 1009, "text[]"),
            column("price", 90_000, "public.price"), column("doc", 142, "xml"),
            column("sum", 23, "integer", generated: true), column("secret", 25, "text"),
            column("made", 25, "text"),
        ]
        lists.uniqueColumns = [ExactText("id")]
        catalog.tables[Catalog.Name(schema: "public", table: "lists")] = lists
        var things = Catalog.Table()
        things.columns = [
            column("thing_id", 2950, "uuid", required: true), column("name", 25, "text"),
            column("title", 25, "text", required: true), column("rank", 23, "integer", required: true),
        ]
        things.uniqueColumns = [ExactText("thing_id")]
        catalog.tables[Catalog.Name(schema: "app", table: "things")] = things
        var logs = Catalog.Table()
        logs.columns = [column("id", 25, "text")]
        catalog.tables[Catalog.Name(schema: "public", table: "logs")] = logs
        catalog.published = [
            Catalog.Name(schema: "public", table: "lists"), Catalog.Name(schema: "public", table: "logs"),
            Catalog.Name(schema: "app", table: "things"),
        ]
        return catalog
    }

    static func tables(_ yaml: String) throws -> UploadTables {
        try UploadTables(map: TableMap(yaml: yaml, source: "map.yaml"), source: "map.yaml", catalog: catalog)
    }

    static func operation(
        _ kind: UploadOperationKind, _ table: String, _ id: String, _ data: String? = nil, opID: Int64? = nil
    ) throws -> UploadOperation {
        UploadOperation(
            kind: kind, table: table, id: id, opID: opID,
            data: try data.map { try JSON.parse($0).objectMembers ?? [] })
    }
}
