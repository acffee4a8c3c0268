import PowerSyncWire

/// Functions on texts and bytes (service 6.10), in the default engine; NULL stays NULL unless they say otherwise.
enum TextFunctions {
    /// `upper`: all of Unicode, scalar by scalar.
    static func upper(_ value: ScalarValue) -> ScalarValue {
        value.textForm.map { ScalarValue(text: $0.uppercased()) } ?? .null
    }

    /// `lower`: all of Unicode, scalar by scalar.
    static func lower(_ value: ScalarValue) -> ScalarValue {
        value.textForm.map { ScalarValue(text: $0.lowercased()) } ?? .null
    }

    /// `length`: bytes of a blob, else UTF-16 units of the text form.
    static func length(_ value: ScalarValue) -> ScalarValue {
        if case .blob(let bytes) = value { return .integer(Int64(bytes.count)) }
        return value.textForm.map { ScalarValue.integer(Int64($0.utf16.count)) } ?? .null
    }

    /// `substring`: counted in UTF-16 units, half of a pair becomes U+FFFD.
    ///
    /// - Parameters:
    ///   - value: What a part is taken of.
    ///   - start: The first unit, from 1; a negative one counts from the end.
    ///   - count: How many units; a negative count is of those before the first one. Nil for all.
    /// - Returns: The part; NULL of NULL.
    /// - Throws: `EvaluationError` if a number has no integer.
    static func substring(
        _ value: ScalarValue, from start: ScalarValue, count: ScalarValue?
    ) throws(EvaluationError) -> ScalarValue {
        guard let text = value.textForm, let start = try bounded(start) else { return .null }
        let units = Array(text.utf16)
        var length = Int.max >> 1
        if let count {
            guard let count = try bounded(count) else { return .null }
            length = count
        }
        let range = part(from: start, length: length, of: units.count)
        return ScalarValue(text: String(decoding: units[range], as: UTF16.self))
    }

    /// Which units are meant; the place before the first one is place 0.
    static func part(from start: Int, length: Int, of count: Int) -> Range<Int> {
        var (first, length, isBackward) = (start, abs(length), length < 0)
        if first < 0 {
            first += count
            if first < 0 {
                length = max(0, length + first)
                first = 0
            }
        } else if first > 0 {
            first -= 1
        } else if length > 0 {
            length -= 1
        }
        if isBackward {
            first -= length
            if first < 0 {
                length += first
                first = 0
            }
        }
        let lower = min(first, count)
        return lower..<max(lower, min(first + max(0, length), count))
    }

    /// An integer that is cut to what no text is long enough for.
    private static func bounded(_ value: ScalarValue) throws(EvaluationError) -> Int? {
        let limit: Int64 = 1 << 40
        switch try value.cast(to: .integer) {
        case .integer(let integer): return Int(min(max(integer, -limit), limit))
        case .wide(let integer): return Int(integer.isNegative ? -limit : limit)
        case .null, .real, .text, .blob: return nil
        }
    }

    /// `instr`: where the second value begins in the first one, from 1; 0 if it does not occur.
    ///
    /// Counted are bytes if both are blobs, else UTF-16 units of the text forms.
    static func position(in value: ScalarValue, of other: ScalarValue) -> ScalarValue {
        if case .blob(let bytes) = value, case .blob(let others) = other {
            return .integer(Int64(position(in: bytes, of: others)))
        }
        guard let text = value.textForm, let other = other.textForm else { return .null }
        return .integer(Int64(position(in: Array(text.utf16), of: Array(other.utf16))))
    }

    /// Where units begin in others, from 1, or 0; looks at each unit once (Knuth, Morris and Pratt).
    static func position<Unit: Equatable>(in units: [Unit], of others: [Unit]) -> Int {
        guard !others.isEmpty else { return 1 }
        // For each beginning of what is looked for the longest one that it ends with.
        var borders = [0]
        var matched = 0
        for index in others.indices.dropFirst() {
            while matched > 0, others[index] != others[matched] { matched = borders[matched - 1] }
            if others[index] == others[matched] { matched += 1 }
            borders.append(matched)
        }
        matched = 0
        for index in units.indices {
            while matched > 0, units[index] != others[matched] { matched = borders[matched - 1] }
            if units[index] == others[matched] { matched += 1 }
            if matched == others.count { return index + 2 - matched }
        }
        return 0
    }

    /// `hex`: digits in capital letters; NULL has none.
    static func hex(_ value: ScalarValue) -> ScalarValue {
        let digits = Array("0123456789ABCDEF".utf8)
        var text: [UInt8] = []
        for byte in value.byteForm ?? [] {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return ScalarValue(text: String(decoding: text, as: UTF8.self))
    }

    /// `base64`: with padding (RFC 4648, section 4); empty for NULL.
    static func base64(_ value: ScalarValue) -> ScalarValue {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        let bytes = value.byteForm ?? []
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits = 0
            for byte in group { bits = bits << 8 | Int(byte) }
            bits <<= 8 * (3 - group.count)
            for place in 0..<4 {
                let digit = bits >> (18 - 6 * place) & 63
                text.append(place <= group.count ? alphabet[digit] : UInt8(ascii: "="))
            }
        }
        return ScalarValue(text: String(decoding: text, as: UTF8.self))
    }

    /// `uuid_blob`: the 16 bytes of a UUID.
    ///
    /// - Throws: `EvaluationError` for any value but NULL and the text of a UUID.
    static func uuidBytes(_ value: ScalarValue) throws(EvaluationError) -> ScalarValue {
        guard !value.isNull else { return .null }
        guard case .text(let text) = value, let bytes = uuid(Array(text.text.utf8)) else {
            throw EvaluationError(message: "Cannot call uuid_blob on a non UUID value")
        }
        return .blob(bytes)
    }

    private static func uuid(_ text: [UInt8]) -> [UInt8]? {
        guard text.count == 36 else { return nil }
        var digits: [UInt8] = []
        for (index, byte) in text.enumerated() {
            if [8, 13, 18, 23].contains(index) {
                guard byte == UInt8(ascii: "-") else { return nil }
            } else {
                guard let digit = HexDigits.value(of: byte) else { return nil }
                digits.append(digit)
            }
        }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// `typeof`: the name of the type of SQL.
    static func typeName(_ value: ScalarValue) -> ScalarValue {
        let name =
            switch value {
            case .null: "null"
            case .integer, .wide: "integer"
            case .real: "real"
            case .text: "text"
            case .blob: "blob"
            }
        return ScalarValue(text: name)
    }
}
