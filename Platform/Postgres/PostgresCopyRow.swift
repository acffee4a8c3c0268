/// Reads rows of COPY … TO STDOUT in the default text format.
package enum PostgresCopyRow {
    /// The fields of one row, with or without its line end; `\N` is nil and escapes are undone.
    ///
    /// Escapes are those the server writes: `\b \f \n \r \t \v` and a doubled backslash.
    package static func fields(of row: [UInt8]) -> [String?] {
        var end = row.count
        if end > 0, row[end - 1] == UInt8(ascii: "\n") { end -= 1 }
        var fields: [String?] = []
        var field: [UInt8] = []
        var isNull = false
        var index = 0
        while index < end {
            let byte = row[index]
            index += 1
            if byte == UInt8(ascii: "\t") {
                fields.append(isNull ? nil : String(decoding: field, as: UTF8.self))
                field.removeAll(keepingCapacity: true)
                isNull = false
            } else if byte == UInt8(ascii: "\\"), index < end {
                let escaped = row[index]
                index += 1
                if escaped == UInt8(ascii: "N") { isNull = true } else { field.append(unescaped(escaped)) }
            } else {
                field.append(byte)
            }
        }
        fields.append(isNull ? nil : String(decoding: field, as: UTF8.self))
        return fields
    }

    private static func unescaped(_ letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        case UInt8(ascii: "v"): 0x0B
        default: letter
        }
    }
}
