import PowerSyncWire

/// Functions on texts and bytes that SQLite has in another way than the default engine; NULL stays NULL.
enum SQLiteFunctions {
    /// `upper` and `lower`: ASCII alone.
    static func mapped(_ value: ScalarValue, _ map: (UInt8) -> UInt8) -> ScalarValue {
        guard let text = value.sqliteText else { return .null }
        return ScalarValue(text: String(decoding: text.utf8.map(map), as: UTF8.self))
    }

    /// `length`: bytes of a blob, else characters of the text up to U+0000.
    static func length(_ value: ScalarValue) -> ScalarValue {
        if case .blob(let bytes) = value { return .integer(Int64(bytes.count)) }
        guard let text = value.sqliteText else { return .null }
        return .integer(Int64(text.unicodeScalars.prefix { $0 != "\0" }.count))
    }

    /// `substr`: bytes of a blob, else characters; counts and places are those of `TextFunctions.substring`.
    static func substring(
        _ value: ScalarValue, from start: ScalarValue, count: ScalarValue?
    ) -> ScalarValue {
        guard !start.isNull, count?.isNull != true else { return .null }
        // SQLite looks at 32 bits of both.
        let first = Int(Int32(truncatingIfNeeded: start.sqliteInteger))
        let length = count.map { Int(Int32(truncatingIfNeeded: $0.sqliteInteger)) } ?? 1_000_000_000
        if case .blob(let bytes) = value {
            // SQLite takes a blob without bytes for NULL here.
            if bytes.isEmpty { return .null }
            return .blob(Array(bytes[TextFunctions.part(from: first, length: length, of: bytes.count)]))
        }
        guard let text = value.sqliteText else { return .null }
        let scalars = Array(text.unicodeScalars)
        var part = String.UnicodeScalarView()
        part.append(contentsOf: scalars[TextFunctions.part(from: first, length: length, of: scalars.count)])
        return ScalarValue(text: String(part))
    }

    /// `instr`: from 1, 0 if it does not occur; bytes of two blobs, else characters.
    static func position(in value: ScalarValue, of other: ScalarValue) -> ScalarValue {
        if case .blob(let bytes) = value, case .blob(let others) = other {
            return .integer(Int64(TextFunctions.position(in: bytes, of: others)))
        }
        guard let text = value.sqliteText, let other = other.sqliteText else { return .null }
        let (scalars, others) = (Array(text.unicodeScalars), Array(other.unicodeScalars))
        return .integer(Int64(TextFunctions.position(in: scalars, of: others)))
    }
}
