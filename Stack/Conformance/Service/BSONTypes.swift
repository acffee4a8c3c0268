import PowerSyncWire

/// Which types the elements of BSON documents have (bsonspec.org 1.1), by their path.
///
/// Read as JSON, whole numbers of three types and doubles are the same: clients of other languages tell them apart.
package struct BSONTypes: Hashable, Sendable {
    /// The bytes in front of elements, by a path such as `data.data[].checksum`.
    private var types: [ExactText: Set<UInt8>] = [:]
    /// The paths of documents whose bytes are not known, which may have any type there.
    private var unknown: Set<ExactText> = []

    /// Makes those of no document.
    package init() {}

    /// Adds the elements of a document.
    ///
    /// - Parameter document: its bytes.
    /// - Throws: `StackError` for what is none, or has elements of types that no line has.
    package mutating func add(_ document: [UInt8]) throws(StackError) {
        var rest = document[...]
        try addMembers(of: &rest, below: "", isArray: false)
    }

    /// Adds the elements of other documents.
    package mutating func add(_ other: BSONTypes) {
        types.merge(other.types) { $0.union($1) }
        unknown.formUnion(other.unknown)
    }

    /// Adds the elements of a document whose bytes were too long to be recorded: nothing is known of their types.
    ///
    /// - Parameter document: what it was read as.
    package mutating func addUnknown(_ document: JSON) { addUnknown(document, below: "") }

    private mutating func addUnknown(_ value: JSON, below path: String) {
        for member in value.objectMembers ?? [] {
            let place = path.isEmpty ? member.name : "\(path).\(member.name)"
            unknown.insert(ExactText(place))
            addUnknown(member.value, below: place)
        }
        for element in value.arrayValue ?? [] {
            unknown.insert(ExactText(path + "[]"))
            addUnknown(element, below: path + "[]")
        }
    }

    /// What other documents have that these have not.
    ///
    /// - Parameter other: the types of those.
    /// - Returns: a text for each path that both have and know, in order.
    package func differences(from other: BSONTypes) -> [String] {
        other.types.sorted { $0.key < $1.key }.compactMap { path, found in
            guard !unknown.contains(path), var known = types[path] else { return nil }
            if path == Self.drawn { known.formUnion([0x01, 0x10]) }
            guard !found.isSubset(of: known) else { return nil }
            return "\(path.text) has the BSON types \(Self.text(found)), recorded \(Self.text(known))"
        }
    }

    /// The checksums of operations are of ids that differ from run to run: their values decide between two types.
    private static let drawn = ExactText("data.data[].checksum")

    private static func text(_ types: Set<UInt8>) -> String {
        types.sorted().map { String($0) }.joined(separator: " and ")
    }

    private mutating func addMembers(
        of bytes: inout ArraySlice<UInt8>, below path: String, isArray: Bool
    ) throws(StackError) {
        let length = try Self.length(&bytes)
        guard length >= 5, length - 4 <= bytes.count else { throw Self.malformed }
        var members = bytes.prefix(length - 4)
        bytes = bytes.dropFirst(length - 4)
        while true {
            guard let type = members.popFirst() else { throw Self.malformed }
            if type == 0 { break }
            guard let end = members.firstIndex(of: 0) else { throw Self.malformed }
            let name = String(decoding: members[..<end], as: UTF8.self)
            members = members[(end + 1)...]
            let place = isArray ? path + "[]" : path.isEmpty ? name : "\(path).\(name)"
            types[ExactText(place), default: []].insert(type)
            try addValue(of: &members, type, place)
        }
        guard members.isEmpty else { throw Self.malformed }
    }

    private mutating func addValue(
        of bytes: inout ArraySlice<UInt8>, _ type: UInt8, _ path: String
    ) throws(StackError) {
        let size: Int
        switch type {
        case 0x03, 0x04: return try addMembers(of: &bytes, below: path, isArray: type == 0x04)
        case 0x01, 0x09, 0x12: size = 8
        case 0x02: size = try Self.length(&bytes)
        case 0x05: size = try Self.length(&bytes) + 1
        case 0x08: size = 1
        case 0x0A: size = 0
        case 0x10: size = 4
        default: throw Self.malformed
        }
        guard size >= 0, size <= bytes.count else { throw Self.malformed }
        bytes = bytes.dropFirst(size)
    }

    private static func length(_ bytes: inout ArraySlice<UInt8>) throws(StackError) -> Int {
        guard bytes.count >= 4 else { throw malformed }
        defer { bytes = bytes.dropFirst(4) }
        return Int(Int32(bitPattern: bytes.prefix(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }))
    }

    private static let malformed = StackError(.answer, "a line is no BSON document as sync lines are")
}
