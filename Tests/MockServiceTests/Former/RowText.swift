import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncWire

/// Writes the data text of an operation (service 4.4), as `RowTextWriter` must.
enum RowText {
    /// The JSON object of columns in their order; BLOBs are left out, a later column overrides an earlier of
    /// its name.
    static func json(_ columns: [(name: String, value: SQLiteValue)]) -> String {
        var places: [ExactText: Int] = [:]
        places.reserveCapacity(columns.count)
        var members: [(name: String, value: SQLiteValue)] = []
        members.reserveCapacity(columns.count)
        for column in columns {
            if case .blob = column.value { continue }
            if let place = places[ExactText(column.name)] {
                members[place].value = column.value
            } else {
                places[ExactText(column.name)] = members.count
                members.append(column)
            }
        }
        // JavaScript moves keys that are array indexes to the front.
        let indexes = members.filter { arrayIndex($0.name) != nil }
        if !indexes.isEmpty {
            let rest = members.filter { arrayIndex($0.name) == nil }
            members = indexes.sorted { (arrayIndex($0.name) ?? 0) < (arrayIndex($1.name) ?? 0) } + rest
        }
        var bytes: [UInt8] = [UInt8(ascii: "{")]
        for (index, member) in members.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            JSON.appendQuoted(member.name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            append(member.value, to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func append(_ value: SQLiteValue, to bytes: inout [UInt8]) {
        switch value {
        case .null, .blob: bytes.append(contentsOf: "null".utf8)
        case .integer(let integer): bytes.append(contentsOf: String(integer).utf8)
        case .real(let real): bytes.append(contentsOf: NumberText.real(real).utf8)
        case .text(let text): JSON.appendQuoted(text, to: &bytes)
        }
    }

    private static func arrayIndex(_ name: String) -> UInt32? {
        guard name.utf8.first.map({ $0 >= 0x30 && $0 <= 0x39 }) == true, let index = UInt32(name),
            index < UInt32.max, String(index) == name
        else { return nil }
        return index
    }
}
