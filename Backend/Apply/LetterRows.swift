import PowerSyncWire

/// The rows that the operations of a dead letter name, by which letters are compared (backend 3.4, Replay).
package struct LetterRows: Sendable, Hashable {
    /// The ids, each once, in one spelling where some type takes several for the same.
    package let ids: [String]
    /// The tables in the database, each once; nil if one of them is not known.
    package let tables: [String]?

    /// Collects the rows of operations.
    ///
    /// - Parameters:
    ///   - operations: the operations.
    ///   - known: the tables that uploads may write; nil if that is not known.
    init(_ operations: some Sequence<UploadOperation>, in known: UploadTables?) {
        var ids: [String] = []
        var tables: [String] = []
        var isKnown = true
        var seen: (ids: Set<ExactText>, names: Set<ExactText>) = ([], [])
        for operation in operations {
            let name = ExactText(operation.table)
            if seen.names.insert(name).inserted {
                if let table = known?.tables[name] {
                    tables.append(table.quoted)
                } else {
                    isKnown = false
                }
            }
            guard let id = LetterRows.name(of: operation.id), seen.ids.insert(ExactText(id)).inserted else {
                continue
            }
            ids.append(id)
        }
        self.ids = ids
        self.tables = isKnown ? tables : nil
    }

    /// Returns an id as ids are compared; nil if no row has it.
    ///
    /// The column's type may be another by the time of a replay, so what is one UUID or number is taken for one row. That
    /// some column would hold two only makes an operator look once more.
    static func name(of id: String) -> String? {
        guard (1...255).contains(id.utf8.count), !id.utf8.contains(0) else { return nil }
        for kind in [ColumnKind.uuid, .integer(bits: 64)] {
            // No value of that type: then it is compared as it is.
            if let same = try? ValueConversion.convert(.string(id), as: kind).text { return same }
        }
        return id
    }
}
