import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncWire

/// A text of Postgres that is not what its type promises, or nested too deep.
package struct ConversionError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What was expected; never the value.
    package let message: String

    /// The message.
    package var description: String { message }

    static let tooDeep = ConversionError(message: "[PSYNC_S1004] A value is nested more than 10 deep.")

    static func malformed(_ what: String) -> ConversionError {
        ConversionError(message: "A text of Postgres is no \(what).")
    }
}

/// Turns texts of Postgres into SQLite values (service 6.13).
///
/// The session that produced the texts must have `DateStyle` ISO, `TimeZone` UTC and `bytea_output` hex.
package struct ValueConverter: Sendable {
    private let times: TimeText

    /// Makes a converter for a configuration's options.
    package init(options: CompatibilityOptions = CompatibilityOptions(edition: 3)) {
        times = TimeText(options: options)
    }

    /// Converts one value of a column.
    ///
    /// - Parameters:
    ///   - text: The text, nil for NULL.
    ///   - type: The column's type.
    /// - Returns: The value.
    /// - Throws: `ConversionError` if the text does not fit the type.
    package func value(_ text: String?, _ type: PostgresType) throws(ConversionError) -> SQLiteValue {
        guard let text else { return .null }
        switch type {
        case .text, .json: return .text(text)
        case .name: return .text(name(text))
        case .boolean: return .integer(text == "t" || text == "true" ? 1 : 0)
        case .integer:
            guard let integer = Int64(text) else { throw .malformed("integer") }
            return .integer(integer)
        case .real: return .real(try Self.double(text))
        case .bytes: return .blob(try Self.bytes(text))
        case .date: return .text(times.date(text))
        case .time: return .text(times.time(text))
        case .timestamp: return SQLiteValue(times.timestamp(text))
        case .timestampWithZone: return SQLiteValue(try times.timestampWithZone(text))
        case .logPosition: return .text(Self.paddedPosition(text))
        case .range where text == "empty": return .text(text)
        case .array, .composite, .range, .multirange: return .text(try json(text, type, depth: 0))
        }
    }

    /// Spells a value as an element of a JSON array or object.
    private func json(_ text: String?, _ type: PostgresType, depth: Int) throws(ConversionError) -> String {
        guard let text else { return "null" }
        guard depth <= 10 else { throw .tooDeep }
        switch type {
        case .text, .name: return JSON.quoted(text)
        case .boolean: return text == "t" || text == "true" ? "1" : "0"
        case .integer: return text
        case .real: return NumberText.real(try Self.double(text))
        case .bytes: return "null"
        case .json: return text
        case .date: return JSON.quoted(times.date(text))
        case .time: return JSON.quoted(times.time(text))
        case .timestamp: return times.timestamp(text).map(JSON.quoted) ?? "null"
        case .timestampWithZone: return try times.timestampWithZone(text).map(JSON.quoted) ?? "null"
        case .logPosition: return JSON.quoted(Self.paddedPosition(text))
        case .array(let element, let delimiter):
            return try list(try NestedText.array(text, delimiter: delimiter), element, depth: depth + 1)
        case .composite(let fields):
            let values = try NestedText.composite(text)
            guard values.count == fields.count else { throw .malformed("composite value of its type") }
            var members: [String] = []
            for (field, value) in zip(fields, values) {
                members.append("\(JSON.quoted(field.name)):\(try json(value, field.type, depth: depth + 1))")
            }
            return "{\(members.joined(separator: ","))}"
        case .range(let bound):
            guard let range = try NestedText.range(text) else { return JSON.quoted("empty") }
            let lower = try json(range.lower, bound, depth: depth + 1)
            let upper = try json(range.upper, bound, depth: depth + 1)
            return
                "{\"lower\":\(lower),\"upper\":\(upper),\"lower_exclusive\":\(range.excludesLower ? 1 : 0),"
                + "\"upper_exclusive\":\(range.excludesUpper ? 1 : 0)}"
        case .multirange(let bound):
            var ranges: [String] = []
            for range in try NestedText.multirange(text) {
                ranges.append(try json(range, .range(bound), depth: depth + 1))
            }
            return "[\(ranges.joined(separator: ","))]"
        }
    }

    private func list(
        _ element: NestedText.ArrayElement, _ type: PostgresType, depth: Int
    ) throws(ConversionError) -> String {
        switch element {
        case .value(let text): return try json(text, type, depth: depth)
        case .list(let elements):
            guard depth <= 10 else { throw .tooDeep }
            var parts: [String] = []
            for element in elements { parts.append(try list(element, type, depth: depth + 1)) }
            return "[\(parts.joined(separator: ","))]"
        }
    }

    /// What a name is: an array if it can be read as one.
    private func name(_ text: String) -> String {
        guard text.utf8.first == UInt8(ascii: "{") else { return text }
        do throws(ConversionError) {
            return try json(text, .array(.text, delimiter: ","), depth: 0)
        } catch {
            // It is a text all the same.
            return text
        }
    }

    private static func double(_ text: String) throws(ConversionError) -> Double {
        guard let value = Double(text) else { throw .malformed("number") }
        return value
    }

    private static func bytes(_ text: String) throws(ConversionError) -> [UInt8] {
        let digits = Array(text.utf8)
        guard digits.starts(with: Array("\\x".utf8)), digits.count % 2 == 0 else { throw .malformed("bytea") }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2 - 1)
        for index in stride(from: 2, to: digits.count, by: 2) {
            guard let high = nibble(digits[index]), let low = nibble(digits[index + 1]) else {
                throw .malformed("bytea")
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func nibble(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x41 + 10
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }

    private static func paddedPosition(_ text: String) -> String {
        text.split(separator: "/", omittingEmptySubsequences: false)
            .map { String(repeating: "0", count: max(0, 8 - $0.count)) + $0 }
            .joined(separator: "/")
    }
}
