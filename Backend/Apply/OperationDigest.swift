import PowerSyncCrypto
import PowerSyncWire

/// What an operation means, in eight bytes: the ledger tells a repetition from other content under the same id by it
/// (backend 3.5).
///
/// A client that writes its queue again may order members in another way, spell a number otherwise or add the id to the
/// data: that is the same operation. What changes nothing that is executed is not counted: `old`, `metadata`, the data of a
/// DELETE.
package enum OperationDigest {
    /// The digest of an operation's meaning.
    package static func meaning(_ operation: UploadOperation) -> Int64 {
        var bytes: [UInt8] = []
        for text in [operation.unknownKind ?? operation.kind.rawValue, operation.table, operation.id] {
            JSON.appendQuoted(text, to: &bytes)
        }
        let isExecuted = operation.kind != .delete || operation.unknownKind != nil
        let data = isExecuted ? operation.data ?? [] : []
        append(.object(data.filter { !isID($0, of: operation) }), to: &bytes)
        return firstBytes(bytes)
    }

    /// The digest of entries that backends wrote before the schema's second version: of the spelling.
    package static func spelling(_ operation: UploadOperation) -> Int64 { firstBytes(operation.json.utf8) }

    private static func isID(_ member: JSONMember, of operation: UploadOperation) -> Bool {
        guard member.name == "id" else { return false }
        switch member.value {
        case .string(let text), .number(let text): return text.utf8.elementsEqual(operation.id.utf8)
        default: return false
        }
    }

    private static func append(_ value: JSON, to bytes: inout [UInt8]) {
        switch value {
        case .number(let lexeme):
            bytes.append(contentsOf: (DecimalText(lexeme)?.canonical ?? lexeme).utf8)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for element in elements {
                append(element, to: &bytes)
                bytes.append(UInt8(ascii: ","))
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for member in ordered(members) {
                JSON.appendQuoted(member.name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                append(member.value, to: &bytes)
                bytes.append(UInt8(ascii: ","))
            }
            bytes.append(UInt8(ascii: "}"))
        default: value.append(to: &bytes)
        }
    }

    /// The members by the bytes of their names; of a name that occurs twice the last, which is the one that is executed.
    private static func ordered(_ members: [JSONMember]) -> [JSONMember] {
        let sorted = members.enumerated().sorted { left, right in
            if left.element.name.utf8.elementsEqual(right.element.name.utf8) {
                return left.offset < right.offset
            }
            return left.element.name.utf8.lexicographicallyPrecedes(right.element.name.utf8)
        }
        return sorted.indices.compactMap { index in
            let next = index + 1
            let isRepeated =
                next < sorted.count
                && sorted[index].element.name.utf8.elementsEqual(sorted[next].element.name.utf8)
            return isRepeated ? nil : sorted[index].element
        }
    }

    private static func firstBytes(_ bytes: [UInt8]) -> Int64 {
        let number = Digest.sha256(bytes).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int64(bitPattern: number)
    }
}
