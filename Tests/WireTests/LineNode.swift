import PowerSyncWire

/// A line as a tree that can be written in both formats, so that one table of cases serves both.
indirect enum LineNode {
    case null
    case bool(Bool)
    case integer(Int64)
    case decimal(Double)
    case text([UInt8])
    case array([LineNode])
    case object([(name: String, value: LineNode)])
    /// A value that BSON alone has: its type and its bytes.
    case binary(UInt8, [UInt8])

    static func text(_ text: String) -> LineNode { .text(Array(text.utf8)) }

    /// The formats that can hold the whole tree.
    var formats: [LineFormat] {
        switch self {
        case .binary: [.bson]
        case .decimal(let number): number.isFinite ? LineFormat.allCases : [.bson]
        case .array(let elements):
            LineFormat.allCases.filter { format in
                elements.allSatisfy { $0.formats.contains(format) }
            }
        case .object(let members):
            LineFormat.allCases.filter { format in
                members.allSatisfy { $0.value.formats.contains(format) }
            }
        default: LineFormat.allCases
        }
    }

    /// Every path to a member or element with its value, the members of a node before theirs.
    var paths: [(path: String, value: LineNode)] {
        let children: [(name: String, value: LineNode)]
        switch self {
        case .array(let elements): children = elements.enumerated().map { ("\($0)", $1) }
        case .object(let members): children = members
        default: return []
        }
        return children.flatMap { child in
            [(child.name, child.value)] + child.value.paths.map { ("\(child.name).\($0.path)", $0.value) }
        }
    }

    /// Returns the tree with the value at a path replaced; nil removes it.
    func replacing(_ path: String, with value: LineNode?) -> LineNode {
        let steps = path.split(separator: ".", maxSplits: 1)
        func child(_ old: LineNode) -> LineNode? {
            steps.count == 1 ? value : old.replacing(String(steps[1]), with: value)
        }
        switch self {
        case .array(let elements):
            return .array(
                elements.enumerated().compactMap { "\($0)" == steps[0] ? child($1) : $1 })
        case .object(let members):
            return .object(
                members.compactMap { member in
                    member.name == steps[0] ? child(member.value).map { (member.name, $0) } : member
                })
        default: return self
        }
    }

    func bytes(_ format: LineFormat) -> [UInt8] { format == .json ? json : bson.bytes }

    private var json: [UInt8] {
        switch self {
        case .null, .binary: return Array("null".utf8)
        case .bool(let value): return Array("\(value)".utf8)
        case .integer(let number): return Array("\(number)".utf8)
        case .decimal(let number): return Array("\(number)".utf8)
        case .text(let bytes):
            let escaped = bytes.flatMap { $0 == 0x22 || $0 == 0x5C ? [0x5C, $0] : [$0] }
            return [0x22] + escaped + [0x22]
        case .array(let elements): return [0x5B] + elements.map(\.json).joined(separator: [0x2C]) + [0x5D]
        case .object(let members):
            let texts = members.map { LineNode.text($0.name).json + [0x3A] + $0.value.json }
            return [0x7B] + texts.joined(separator: [0x2C]) + [0x7D]
        }
    }

    private var bson: (type: UInt8, bytes: [UInt8]) {
        func raw(_ value: some FixedWidthInteger) -> [UInt8] {
            withUnsafeBytes(of: value.littleEndian) { Array($0) }
        }
        func document(_ members: [(name: String, value: LineNode)]) -> [UInt8] {
            let content = members.flatMap { member in
                let value = member.value.bson
                return [value.type] + Array(member.name.utf8) + [0] + value.bytes
            }
            return raw(Int32(content.count + 5)) + content + [0]
        }
        switch self {
        case .null: return (10, [])
        case .bool(let value): return (8, [value ? 1 : 0])
        case .integer(let number):
            return Int32(exactly: number).map { (16, raw($0)) } ?? (18, raw(number))
        case .decimal(let number): return (1, raw(number.bitPattern))
        case .text(let bytes): return (2, raw(Int32(bytes.count + 1)) + bytes + [0])
        case .array(let elements): return (4, document(elements.enumerated().map { ("\($0)", $1) }))
        case .object(let members): return (3, document(members))
        case .binary(let type, let bytes): return (type, bytes)
        }
    }
}

/// The two formats of a line.
enum LineFormat: String, CaseIterable {
    case json
    case bson

    func decode(_ bytes: [UInt8]) throws(WireError) -> SyncLine {
        switch self {
        case .json: try SyncLine(parsing: bytes)
        case .bson: try SyncLine(parsingBSON: bytes)
        }
    }
}
