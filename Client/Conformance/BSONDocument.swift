import PowerSyncWire

/// Reads the binary form of sync lines (client-core 5.4), which the recordings hold beside JSON.
///
/// The client itself asks the service for JSON lines.
enum BSONDocument {
    /// Returns the document as a JSON value; a number keeps its kind, bytes and times become text.
    ///
    /// - Throws: `WireError` for bytes that are not exactly one document.
    static func json(_ bytes: [UInt8]) throws(WireError) -> JSON {
        var reader = Reader(bytes: bytes[...])
        let document = try reader.document(isArray: false, depth: 0)
        guard reader.bytes.isEmpty else { throw malformed("bytes behind the document") }
        return document
    }

    fileprivate static func malformed(_ what: String) -> WireError {
        WireError(.invalidField, "invalid binary line: \(what)")
    }

    private struct Reader {
        var bytes: ArraySlice<UInt8>

        mutating func take(_ count: Int) throws(WireError) -> ArraySlice<UInt8> {
            guard count >= 0, count <= bytes.count else { throw malformed("unexpected end") }
            defer { bytes = bytes.dropFirst(count) }
            return bytes.prefix(count)
        }

        mutating func integer<Value: FixedWidthInteger>(_: Value.Type) throws(WireError) -> Value {
            try take(MemoryLayout<Value>.size).reversed().reduce(0) {
                $0 << 8 | Value(truncatingIfNeeded: $1)
            }
        }

        mutating func name() throws(WireError) -> String {
            guard let end = bytes.firstIndex(of: 0) else { throw malformed("a name without an end") }
            let name = try text(bytes[bytes.startIndex..<end])
            bytes = bytes[(end + 1)...]
            return name
        }

        func text(_ bytes: ArraySlice<UInt8>) throws(WireError) -> String {
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw malformed("text not in UTF-8")
            }
            return text
        }

        mutating func string() throws(WireError) -> String {
            let length = Int(try integer(Int32.self))
            guard length >= 1 else { throw malformed("a text of length \(length)") }
            let content = try take(length)
            guard content.last == 0 else { throw malformed("a text without an end") }
            return try text(content.dropLast())
        }

        mutating func document(isArray: Bool, depth: Int) throws(WireError) -> JSON {
            guard depth < 128 else { throw malformed("nested too deeply") }
            let before = bytes
            let length = Int(try integer(Int32.self))
            guard length >= 5, length <= before.count else {
                throw malformed("a document of length \(length)")
            }
            let rest = before.dropFirst(length)
            bytes = before.prefix(length).dropFirst(4)
            var members: [JSONMember] = []
            while true {
                let type = try integer(UInt8.self)
                if type == 0 { break }
                members.append(JSONMember(try name(), try value(type, depth: depth)))
            }
            guard bytes.isEmpty else { throw malformed("bytes behind the end of a document") }
            bytes = rest
            return isArray ? .array(members.map(\.value)) : .object(members)
        }

        mutating func value(_ type: UInt8, depth: Int) throws(WireError) -> JSON {
            switch type {
            case 1: return .number("\(Double(bitPattern: try integer(UInt64.self)))")
            case 2: return .string(try string())
            case 3, 4: return try document(isArray: type == 4, depth: depth + 1)
            case 5:
                let length = Int(try integer(Int32.self))
                _ = try integer(UInt8.self)
                return .array(try take(length).map { .integer($0) })
            case 6, 10: return .null
            case 7: return .array(try take(12).map { .integer($0) })
            case 8: return .bool(try integer(UInt8.self) != 0)
            case 9, 17, 18: return .integer(try integer(Int64.self))
            case 16: return .integer(try integer(Int32.self))
            default: throw malformed("type \(type)")
            }
        }
    }
}
