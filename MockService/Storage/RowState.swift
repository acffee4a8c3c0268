import PowerSyncPostgres
import PowerSyncWire

/// Spells what the state file keeps of a source row.
enum RowState {
    /// The values that an update may leave out, as a JSON object; nil if there are none.
    static func text(largeValues tuple: PgOutputTuple, of table: SourceTable) -> String? {
        guard !table.largeColumns.isEmpty else { return nil }
        let members = table.largeColumns.filter { $0 < tuple.count }.map { index in
            JSONMember(table.shape.columns[index], tuple[index].text.map { .string($0) } ?? .null)
        }
        return JSON.object(members).text
    }

    /// Reads what `text(largeValues:of:)` wrote.
    static func largeValues(_ text: String?) throws -> [ExactText: String?] {
        guard let text, let members = try JSON.parse(text).objectMembers else { return [:] }
        return Dictionary(
            members.map { (ExactText($0.name), $0.value.stringValue) }, uniquingKeysWith: { _, last in last })
    }

    /// The places of a row, as a JSON array of arrays.
    static func text(entries: [RowEntry]) -> String {
        JSON.array(entries.map { .array([.integer($0.bucket), .string($0.type), .string($0.id)]) }).text
    }

    /// Reads what `text(entries:)` wrote.
    static func entries(_ text: String) throws -> [RowEntry] {
        guard text != "[]" else { return [] }
        return try JSON.parse(text).arrayValue?.map { entry in
            guard let parts = entry.arrayValue, parts.count == 3, let bucket = parts[0].int64Value,
                let type = parts[1].stringValue, let id = parts[2].stringValue
            else { throw StoreError.unreadableRow }
            return RowEntry(bucket: bucket, type: type, id: id)
        } ?? []
    }
}
