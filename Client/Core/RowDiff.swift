import PowerSyncSQLite
import PowerSyncWire

/// What changed between two rows in JSON (client-core 2.6); numbers keep their spelling.
enum RowDiff {
    /// Returns the object that turns `old` into `new`: null for what went, keys in ascending byte order.
    static func diff(_ old: String, _ new: String) throws(SQLiteError) -> String {
        let old = try members(of: old)
        var new = try members(of: new)
        for (name, value) in old {
            if let changed = new[name] {
                if areEqual(value, changed) { new[name] = nil }
            } else {
                new[name] = .null
            }
        }
        let sorted = new.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        return JSON.object(sorted.map { JSONMember($0.key, $0.value) }).text
    }

    /// Joins objects by their text, as `powersync_json_merge` does; the first of equal keys stays first.
    static func merge(_ objects: [String]) throws(SQLiteError) -> String {
        var result: [UInt8] = [UInt8(ascii: "{")]
        for object in objects {
            let utf8 = object.utf8
            guard utf8.count >= 2, utf8.first == UInt8(ascii: "{"), utf8.last == UInt8(ascii: "}") else {
                throw CoreError.argument("Expected json object")
            }
            if utf8.count == 2 { continue }
            if result.count > 1 { result.append(UInt8(ascii: ",")) }
            result.append(contentsOf: utf8.dropFirst().dropLast())
        }
        result.append(UInt8(ascii: "}"))
        return String(decoding: result, as: UTF8.self)
    }

    /// Returns a double as JSON that reads back as the same double, spelled as SQLite does.
    ///
    /// SQLite before 3.42 rounds to 15 digits and writes infinity in a way it cannot read (client-core 1.7).
    static func spelling(of double: Double) -> String {
        if double.isInfinite { return double < 0 ? "-9e999" : "9e999" }
        let text = double.description
        guard let exponent = text.firstIndex(of: "e"), !text.contains(".") else { return text }
        return text[..<exponent] + ".0" + text[exponent...]
    }

    private static func members(of text: String) throws(SQLiteError) -> [String: JSON] {
        guard let members = try CoreError.parseArgument(text).objectMembers else {
            throw CoreError.argument("expected two JSON objects")
        }
        var result: [String: JSON] = Dictionary(minimumCapacity: members.count)
        for member in members { result[member.name] = member.value.isNull ? nil : member.value }
        return result
    }

    /// Whether two values are the same: 1.0 is 1.00, but not 1; the order of members does not matter.
    static func areEqual(_ first: JSON, _ second: JSON) -> Bool {
        switch (first, second) {
        case (.number(let first), .number(let second)):
            if first == second { return true }
            switch (Number(first), Number(second)) {
            case (.integer(let first), .integer(let second)): return first == second
            case (.double(let first), .double(let second)): return first == second
            default: return false
            }
        case (.array(let first), .array(let second)):
            return first.count == second.count && zip(first, second).allSatisfy { areEqual($0, $1) }
        case (.object(let first), .object(let second)):
            let first = Dictionary(first.map { ($0.name, $0.value) }) { $1 }
            let second = Dictionary(second.map { ($0.name, $0.value) }) { $1 }
            return first.count == second.count
                && first.allSatisfy { name, value in second[name].map { areEqual(value, $0) } ?? false }
        default: return first == second
        }
    }

    /// A number as the reference reads it: an integer of 64 bits where it is spelled as one, else a double.
    private enum Number {
        case integer(Int128)
        case double(Double?)

        init(_ lexeme: String) {
            let integer = Int64(lexeme).map { Int128($0) } ?? UInt64(lexeme).map { Int128($0) }
            self = integer.map { .integer($0) } ?? .double(Double(lexeme))
        }
    }
}
