import PowerSyncCrypto
import PowerSyncWire

/// What an operation means, in eight bytes: the ledger tells a repetition from other content under the same id by it
/// (backend 3.5).
///
/// A client that writes its queue again may order members in another way, spell a number otherwise or add the id to the
/// data: that is the same operation. What changes nothing that is executed is not counted: `old`, `metadata`, the data of a
/// DELETE.
///
/// One value reads many operations, one after the other, with one buffer and one digest.
package struct OperationDigest: ~Copyable {
    /// As soon as the buffer has so many bytes, they go into the digest.
    private static let piece = 16 << 10

    private var digest = KeptDigest(.sha256)
    private var bytes: [UInt8] = []

    /// Makes what reads operations.
    package init() {}

    /// The digest of an operation's meaning.
    package static func meaning(_ operation: UploadOperation) -> Int64 {
        var digest = OperationDigest()
        return digest.meaning(operation)
    }

    /// The digest of entries that backends wrote before the schema's second version: of the spelling.
    package static func spelling(_ operation: UploadOperation) -> Int64 {
        var digest = OperationDigest()
        return digest.spelling(operation)
    }

    /// The digest of an operation's meaning.
    package mutating func meaning(_ operation: UploadOperation) -> Int64 {
        JSON.appendQuoted(operation.unknownKind ?? operation.kind.rawValue, to: &bytes)
        JSON.appendQuoted(operation.table, to: &bytes)
        JSON.appendQuoted(operation.id, to: &bytes)
        let isExecuted = operation.kind != .delete || operation.unknownKind != nil
        bytes.append(UInt8(ascii: "{"))
        if isExecuted, let data = operation.data { append(data, of: operation) }
        bytes.append(UInt8(ascii: "}"))
        return firstBytes()
    }

    /// The digest of an operation's spelling.
    package mutating func spelling(_ operation: UploadOperation) -> Int64 {
        operation.json.append(to: &bytes)
        return firstBytes()
    }

    /// Appends the data without its id, in the order of the names, in which most clients send it.
    private mutating func append(_ data: [JSONMember], of operation: UploadOperation) {
        let hasID = data.indices.contains { Self.isID(data[$0], of: operation) }
        if !hasID, Self.isOrdered(data) {
            for place in data.indices { append(data[place]) }
        } else {
            let data = hasID ? data.filter { !Self.isID($0, of: operation) } : data
            for place in Self.order(of: data) { append(data[place]) }
        }
    }

    private mutating func append(_ member: JSONMember) {
        Self.append(member, to: &bytes)
        if bytes.count >= Self.piece { feed() }
    }

    private static func isID(_ member: JSONMember, of operation: UploadOperation) -> Bool {
        guard member.name == "id" else { return false }
        switch member.value {
        case .string(let text), .number(let text): return ExactText(text) == ExactText(operation.id)
        default: return false
        }
    }

    private static func append(_ value: JSON, to bytes: inout [UInt8]) {
        switch value {
        case .number(let lexeme):
            if !appendDecimal(lexeme, to: &bytes) {
                bytes.append(contentsOf: (DecimalText(lexeme)?.canonical ?? lexeme).utf8)
            }
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for element in elements {
                append(element, to: &bytes)
                bytes.append(UInt8(ascii: ","))
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for place in order(of: members) { append(members[place], to: &bytes) }
            bytes.append(UInt8(ascii: "}"))
        default: value.append(to: &bytes)
        }
    }

    private static func append(_ member: JSONMember, to bytes: inout [UInt8]) {
        JSON.appendQuoted(member.name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        append(member.value, to: &bytes)
        bytes.append(UInt8(ascii: ","))
    }

    /// Appends `DecimalText.canonical` of a number without exponent, as most are.
    ///
    /// - Returns: Whether it is one; for every other nothing is appended.
    private static func appendDecimal(_ lexeme: String, to bytes: inout [UInt8]) -> Bool {
        guard lexeme.utf8.count <= DecimalText.limit else { return false }
        return lexeme.utf8.withContiguousStorageIfAvailable { appendDecimal($0, to: &bytes) } ?? false
    }

    private static func appendDecimal(
        _ text: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]
    ) -> Bool {
        let start = text.first == UInt8(ascii: "-") ? 1 : 0
        // The first and the last digit that is no zero, and the point; no place is -1.
        var (first, last, point) = (-1, -1, -1)
        for place in start..<text.count {
            switch text[place] {
            case UInt8(ascii: "0"): break
            case UInt8(ascii: "1")...UInt8(ascii: "9"):
                if first < 0 { first = place }
                last = place
            case UInt8(ascii: ".") where point < 0: point = place
            default: return false
            }
        }
        guard text.count > start + (point < 0 ? 0 : 1) else { return false }
        var exponent = 0
        if first >= 0 {
            if start == 1 { bytes.append(UInt8(ascii: "-")) }
            for place in first...last where place != point { bytes.append(text[place]) }
            let end = point < 0 ? text.count : point
            // Of the last digit that is no zero: places behind it count up, behind the point down.
            exponent = last < end ? end - last - 1 : end - last
        }
        bytes.append(UInt8(ascii: "e"))
        if exponent < 0 { bytes.append(UInt8(ascii: "-")) }
        let size = exponent.magnitude
        if size < 10 {
            bytes.append(UInt8(ascii: "0") + UInt8(size))
        } else {
            bytes.append(contentsOf: String(size).utf8)
        }
        return true
    }

    private static func isOrdered(_ members: [JSONMember]) -> Bool {
        members.indices.dropFirst().allSatisfy {
            ExactText(members[$0 - 1].name) < ExactText(members[$0].name)
        }
    }

    /// The places of the members by the bytes of their names; of a name that occurs twice that of the last, which is
    /// executed.
    private static func order(of members: [JSONMember]) -> [Int] {
        if isOrdered(members) { return Array(members.indices) }
        let sorted = members.indices.sorted { left, right in
            let (one, other) = (ExactText(members[left].name), ExactText(members[right].name))
            return one == other ? left < right : one < other
        }
        return sorted.indices.compactMap { index in
            let next = index + 1
            let isRepeated =
                next < sorted.count
                && ExactText(members[sorted[index]].name) == ExactText(members[sorted[next]].name)
            return isRepeated ? nil : sorted[index]
        }
    }

    private mutating func feed() {
        digest.update(bytes)
        bytes.removeAll(keepingCapacity: true)
    }

    private mutating func firstBytes() -> Int64 {
        feed()
        return Int64(bitPattern: digest.finishedNumber())
    }
}
