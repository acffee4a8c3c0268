import PowerSync
import PowerSyncSQLite
import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How values of SQLite are spelled in JSON, both ways: integers with all digits, bytes as `{"$base64":"…"}`.
///
/// A real has a point or an exponent, an integer has neither, so that each stays what it is.
package enum ClientValue {
    private static let base64 = "$base64"

    /// Returns the value that is bound to a placeholder.
    ///
    /// - Parameters:
    ///   - json: the argument.
    ///   - place: where it is in the command.
    /// - Returns: what the SDK takes as a parameter; nil is NULL.
    /// - Throws: `ClientError` for what SQLite has no value for.
    package static func parameter(_ json: JSON, at place: String) throws(ClientError) -> (any Sendable)? {
        switch json {
        case .null: return nil
        case .bool(let value): return value
        case .string(let text): return text
        case .number(let lexeme): return try number(lexeme, at: place)
        case .object(let members) where members.count == 1 && members[0].name == base64:
            guard let text = members[0].value.stringValue, let bytes = Data(base64Encoded: text) else {
                throw ClientError("\(place).\(base64): expected a text in Base64")
            }
            return bytes
        case .array, .object:
            throw ClientError(
                "\(place): expected null, a truth value, a number, a text or {\"\(base64)\": …}")
        }
    }

    private static func number(_ lexeme: String, at place: String) throws(ClientError) -> any Sendable {
        if lexeme.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 | 0x20 == UInt8(ascii: "e") }) {
            guard let real = Double(lexeme) else { throw ClientError("\(place): expected a number") }
            return real
        }
        guard let integer = Int64(lexeme) else {
            throw ClientError("\(place): expected an integer of 64 bits; a real has a point or an exponent")
        }
        return integer
    }

    /// Appends a row as an object by column name; where names repeat, the last column counts.
    ///
    /// - Parameters:
    ///   - cursor: the row.
    ///   - bytes: gets the object.
    ///   - limit: how many bytes there may be in all.
    /// - Throws: `ClientError` with `.answerTooLarge`; some of the row has been appended then.
    static func append(
        _ cursor: any StoredValueCursor, to bytes: inout [UInt8], limit: Int
    ) throws(ClientError) {
        bytes.append(UInt8(ascii: "{"))
        var isFirst = true
        for column in cursor.namedColumns {
            // Asked before it is copied: a single value may have a gigabyte.
            try check(bytes.count + cursor.byteCount(index: column.index), limit)
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            JSON.appendQuoted(column.name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            json(cursor.storedValue(index: column.index)).append(to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
        try check(bytes.count, limit)
    }

    private static func check(_ count: Int, _ limit: Int) throws(ClientError) {
        guard count > limit else { return }
        throw ClientError(
            "the answer has more than \(limit) bytes; ask for fewer rows (LIMIT), or for less of a value (substr)",
            code: .answerTooLarge)
    }

    /// Returns the spelling of a value.
    package static func json(_ value: SQLiteValue) -> JSON {
        switch value {
        case .null: .null
        case .integer(let integer): .integer(integer)
        case .real(let real): real.isNaN ? .null : .number(spelling(of: real))
        case .text(let text): .string(text)
        case .blob(let bytes):
            .object([JSONMember(base64, .string(Data(bytes).base64EncodedString()))])
        }
    }

    /// JSON has no infinity: a number beyond every double reads back as one.
    private static func spelling(of real: Double) -> String {
        real.isInfinite ? (real < 0 ? "-9e999" : "9e999") : "\(real)"
    }
}
