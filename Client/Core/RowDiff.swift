import PowerSyncSQLite
import PowerSyncWire

/// What changed between two rows in JSON (client-core 2.6); numbers keep their spelling.
enum RowDiff {
    /// Returns the object that turns `old` into `new`: null for what went, keys in ascending byte order.
    ///
    /// - Parameters:
    ///   - old: a JSON object.
    ///   - new: a JSON object.
    /// - Returns: a JSON object in UTF-8.
    /// - Throws: code 3091 for anything but two objects.
    static func diff(
        _ old: UnsafeBufferPointer<UInt8>, _ new: UnsafeBufferPointer<UInt8>
    ) throws(SQLiteError) -> [UInt8] {
        if let old = FlatObject(old), let new = FlatObject(new) { return flatDiff(old, new) }
        // What is not UTF-8 in a text of SQLite becomes a replacement character, as everywhere.
        let (old, new) = (String(decoding: old, as: UTF8.self), String(decoding: new, as: UTF8.self))
        return Array(try treeDiff(old, new).utf8)
    }

    /// Compares members by walking both objects in the order of their names.
    private static func flatDiff(_ old: FlatObject, _ new: FlatObject) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(new.text.count + 2)
        result.append(UInt8(ascii: "{"))
        func append(_ object: FlatObject, _ member: FlatObject.Member, isNull: Bool) {
            if result.count > 1 { result.append(UInt8(ascii: ",")) }
            if isNull {
                object.append(member.name.lowerBound - 1..<member.name.upperBound + 1, to: &result)
                result.append(contentsOf: ":null".utf8)
            } else {
                object.append(member.name.lowerBound - 1..<member.value.upperBound, to: &result)
            }
        }
        var before = old.members[...]
        for member in new.members {
            while let gone = before.first, old.order(gone, member, in: new.text) < 0 {
                if gone.kind != .null { append(old, gone, isNull: true) }
                before.removeFirst()
            }
            var previous: FlatObject.Member?
            if let same = before.first, old.order(same, member, in: new.text) == 0 {
                before.removeFirst()
                if same.kind != .null { previous = same }
            }
            switch (previous, member.kind) {
            case (nil, .null): continue
            case (nil, _): append(new, member, isNull: false)
            case (.some, .null): append(new, member, isNull: true)
            case (let previous?, _):
                if areEqual(old, previous, new, member) { continue }
                append(new, member, isNull: false)
            }
        }
        for gone in before where gone.kind != .null { append(old, gone, isNull: true) }
        result.append(UInt8(ascii: "}"))
        return result
    }

    private static func areEqual(
        _ old: FlatObject, _ previous: FlatObject.Member, _ new: FlatObject, _ member: FlatObject.Member
    ) -> Bool {
        if old.equals(previous, member, in: new.text) { return true }
        guard previous.kind == .number, member.kind == .number else { return false }
        return areEqual(
            .number(String(decoding: old.text[previous.value], as: UTF8.self)),
            .number(String(decoding: new.text[member.value], as: UTF8.self)))
    }

    /// The same for any objects, by building trees of both.
    static func treeDiff(_ old: String, _ new: String) throws(SQLiteError) -> String {
        let old = try members(of: old)
        var new = try members(of: new)
        for (name, value) in old {
            if let changed = new[name] {
                if areEqual(value, changed) { new[name] = nil }
            } else {
                new[name] = .null
            }
        }
        let sorted = new.sorted { $0.key.text.utf8.lexicographicallyPrecedes($1.key.text.utf8) }
        return JSON.object(sorted.map { JSONMember($0.key.text, $0.value) }).text
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

    private static func members(of text: String) throws(SQLiteError) -> [ExactText: JSON] {
        guard let members = try CoreError.parseArgument(text).objectMembers else {
            throw CoreError.argument("expected two JSON objects")
        }
        var result: [ExactText: JSON] = Dictionary(minimumCapacity: members.count)
        for member in members {
            result[ExactText(member.name)] = member.value.isNull ? nil : member.value
        }
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
        case (.string(let first), .string(let second)): return first.utf8.elementsEqual(second.utf8)
        case (.array(let first), .array(let second)):
            return first.count == second.count && zip(first, second).allSatisfy { areEqual($0, $1) }
        case (.object(let first), .object(let second)):
            let first = Dictionary(first.map { (ExactText($0.name), $0.value) }) { $1 }
            let second = Dictionary(second.map { (ExactText($0.name), $0.value) }) { $1 }
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
