import PowerSyncWire

/// Writes JSON as BSON, as the service's JavaScript does: integers beyond 32 bits become doubles.
enum BSONWriter {
    static func document(_ json: String) throws -> [UInt8] { document(try JSON.parse(json)) }

    static func document(_ json: JSON) -> [UInt8] {
        let members: [JSONMember] =
            switch json {
            case .array(let elements): elements.enumerated().map { JSONMember("\($0)", $1) }
            case .object(let members): members
            case .null, .bool, .number, .string: []
            }
        let content = members.flatMap { member in
            let (type, bytes) = value(member.value)
            return [type] + Array(member.name.utf8) + [0] + bytes
        }
        return bytes(Int32(content.count + 5)) + content + [0]
    }

    private static func value(_ json: JSON) -> (type: UInt8, bytes: [UInt8]) {
        switch json {
        case .null: return (10, [])
        case .bool(let flag): return (8, [flag ? 1 : 0])
        case .number(let lexeme):
            if let integer = Int32(lexeme) { return (16, bytes(integer)) }
            return (1, bytes((Double(lexeme) ?? .nan).bitPattern))
        case .string(let text): return (2, bytes(Int32(text.utf8.count + 1)) + Array(text.utf8) + [0])
        case .array: return (4, document(json))
        case .object: return (3, document(json))
        }
    }

    private static func bytes(_ integer: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: integer.littleEndian) { Array($0) }
    }
}
