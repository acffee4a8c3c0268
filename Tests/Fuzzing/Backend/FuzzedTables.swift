import PowerSyncBackend
import PowerSyncWire

/// A database with a table of every kind of column, as its catalog tells it.
enum FuzzedTables {
    /// Names, types and modifiers.
    private static let columns: [(String, String, Int)] = [
        ("a", "bool", -1), ("b", "int2", -1), ("c", "int4", -1), ("d", "int8", -1), ("e", "numeric", -1),
        ("f", "numeric", (10 << 16 | 2) + 4), ("g", "numeric", (6 << 16 | 0x7FE) + 4), ("h", "float8", -1),
        ("i", "text", -1),
        ("j", "varchar", 9), ("k", "bpchar", 9), ("l", "jsonb", -1), ("m", "bytea", -1),
        ("n", "timestamptz", -1),
        ("o", "timestamp", -1), ("p", "date", -1), ("q", "time", -1), ("r", "interval", -1),
        ("s", "uuid", -1),
        ("t", "mood", -1), ("u", "varbit", -1), ("v", "inet", -1), ("w", "citext", -1),
        ("x", "tstzrange", -1),
        ("y", "nummultirange", -1), ("z", "mine", -1),
    ]

    /// Every type has an array; those of the second half of the names carry the options of the map.
    static var catalog: Catalog {
        var catalog = Catalog()
        var table = Catalog.Table()
        table.uniqueColumns = [ExactText("id")]
        catalog.types[1] = Catalog.TypeEntry(name: "text")
        table.columns = [
            Catalog.Column(name: "id", type: "text", typeOID: 1),
            Catalog.Column(name: "owner", type: "text", typeOID: 1),
            Catalog.Column(name: "needed", type: "text", typeOID: 1, isRequired: true),
        ]
        for (index, (name, type, modifier)) in columns.enumerated() {
            let (scalar, array) = (UInt32(index * 2 + 10), UInt32(index * 2 + 11))
            let kind =
                switch type {
                case "mood": "e"
                case "tstzrange", "mine": "r"
                case "nummultirange": "m"
                default: "b"
                }
            catalog.types[scalar] = Catalog.TypeEntry(name: type, kind: kind)
            catalog.types[array] = Catalog.TypeEntry(name: "_" + type, element: scalar)
            for (suffix, oid) in [("", scalar), ("1", scalar), ("s", array), ("s1", array)] {
                table.columns.append(
                    Catalog.Column(name: name + suffix, type: type, typeOID: oid, modifier: modifier))
            }
        }
        catalog.tables[Catalog.Name(schema: "public", table: "t")] = table
        return catalog
    }

    /// The map: each column once as it is and once with every option.
    static var map: String {
        let options = "{ json_strings: keep, encoding: hex, infinity: accept, epoch: ms, empty: null }"
        let columns = columns.flatMap { ["\($0.0)1", "\($0.0)s1"] }.map { "      \($0): \(options)\n" }
        return "tables:\n  t:\n    owner: owner\n    columns:\n" + columns.joined()
    }
}
