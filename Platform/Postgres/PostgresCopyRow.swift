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

    /// Undoes the escapes of a row where it lies and appends a cell for each field, as `fields(of:)` reads it.
    ///
    /// No text is made: the cells lie within the row, of which nothing else is of use afterwards.
    ///
    /// - Parameters:
    ///   - row: Where the row lies, with or without its line end.
    ///   - bytes: The buffer.
    ///   - cells: Gets the cells.
    package static func unescape(
        _ row: Range<Int>, in bytes: inout [UInt8], cells: inout [PostgresCell]
    ) {
        bytes.withUnsafeMutableBufferPointer { bytes in
            precondition(row.lowerBound >= 0 && row.upperBound <= bytes.count, "a row outside of its buffer")
            var end = row.upperBound
            if !row.isEmpty, bytes[end - 1] == UInt8(ascii: "\n") { end -= 1 }
            var (start, read, write) = (row.lowerBound, row.lowerBound, row.lowerBound)
            var isNull = false
            while read < end {
                let byte = bytes[read]
                read += 1
                if byte == UInt8(ascii: "\t") {
                    cells.append(isNull ? .null : PostgresCell(start..<write))
                    (start, write) = (read, read)
                    isNull = false
                } else if byte == UInt8(ascii: "\\"), read < end {
                    let escaped = bytes[read]
                    read += 1
                    if escaped == UInt8(ascii: "N") {
                        isNull = true
                    } else {
                        bytes[write] = unescaped(escaped)
                        write += 1
                    }
                } else {
                    bytes[write] = byte
                    write += 1
                }
            }
            cells.append(isNull ? .null : PostgresCell(start..<write))
        }
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
