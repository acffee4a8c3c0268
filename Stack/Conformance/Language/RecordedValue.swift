import PowerSyncSyncRules
import PowerSyncWire

/// Values as recordings of the language spell them, and as differences show them.
enum RecordedValue {
    /// Reads a value: `null`, a text, a number for a REAL, `{"i": digits}`, `{"b": hex}`, `{"f": "NaN"}`.
    ///
    /// - Parameter json: the JSON of a recording.
    /// - Returns: the value; nil for what is none of these.
    static func read(_ json: JSON) -> ScalarValue? {
        switch json {
        case .null: return .null
        case .string(let text): return ScalarValue(text: text)
        case .number(let lexeme): return Double(lexeme).map { ScalarValue.real($0) }
        case .object:
            if let digits = json["i"]?.stringValue { return ScalarValue(digits: digits) }
            if let hex = json["b"]?.stringValue { return bytes(hex).map { ScalarValue.blob($0) } }
            switch json["f"]?.stringValue {
            case "NaN": return .real(.nan)
            case "Infinity": return .real(.infinity)
            case "-Infinity": return .real(-.infinity)
            default: return nil
            }
        case .bool, .array: return nil
        }
    }

    /// A value with its type: `NULL`, `1`, `1.0`, `"text"`, `x'00ff'`.
    static func text(_ value: ScalarValue) -> String {
        switch value {
        case .null: "NULL"
        case .integer(let integer): String(integer)
        case .wide(let integer): integer.digits.text
        case .real(let real): NumberText.real(real)
        case .text(let text): JSON.quoted(text.text)
        case .blob(let bytes):
            "x'" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "'"
        }
    }

    /// Reads JSON in which half a character may stand, as JavaScript cuts it off: it becomes U+FFFD.
    ///
    /// - Parameter bytes: UTF-8.
    /// - Returns: the value.
    /// - Throws: `WireError` if it is no JSON otherwise.
    static func json(_ bytes: [UInt8]) throws(WireError) -> JSON {
        do throws(WireError) {
            return try JSON.parse(bytes)
        } catch {
            let repaired = repairingHalves(bytes)
            guard repaired != bytes else { throw error }
            return try JSON.parse(repaired)
        }
    }

    /// Puts `\ufffd` in the place of each escape that is half a surrogate pair.
    private static func repairingHalves(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count else {
                result.append(bytes[index])
                index += 1
                continue
            }
            guard let unit = unit(bytes, at: index) else {
                result += bytes[index..<index + 2]
                index += 2
                continue
            }
            let isFirst = (0xD800..<0xDC00).contains(unit)
            if isFirst, let second = self.unit(bytes, at: index + 6), (0xDC00..<0xE000).contains(second) {
                result += bytes[index..<index + 12]
                index += 12
                continue
            }
            let isHalf = (0xD800..<0xE000).contains(unit)
            result += isHalf ? Array("\\ufffd".utf8) : Array(bytes[index..<index + 6])
            index += 6
        }
        return result
    }

    /// The unit of an escape `\uXXXX` that begins at a byte.
    private static func unit(_ bytes: [UInt8], at index: Int) -> UInt32? {
        guard index + 6 <= bytes.count, bytes[index] == UInt8(ascii: "\\"),
            bytes[index + 1] == UInt8(ascii: "u")
        else { return nil }
        return UInt32(String(decoding: bytes[index + 2..<index + 6], as: UTF8.self), radix: 16)
    }

    private static func bytes(_ hex: String) -> [UInt8]? {
        let digits = Array(hex.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            let pair = String(decoding: digits[index..<index + 2], as: UTF8.self)
            guard let byte = UInt8(pair, radix: 16) else { return nil }
            bytes.append(byte)
        }
        return bytes
    }
}
