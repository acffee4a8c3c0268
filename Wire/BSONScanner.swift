/// Reads BSON (bsonspec.org 1.1) from a buffer, value by value, as far as sync lines use it (client-core 5.4).
///
/// The buffer must outlive the scanner. Bytes are checked as they are passed: lengths against the document around
/// them, terminators, UTF-8, known types, nesting.
struct BSONScanner {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    /// Where the document ends that is being read.
    private var end: Int
    /// The type of the value that is next.
    private var type = Tag.document
    private var depth = 0
    /// How many values have become part of a tree.
    private var values = 0
    private let limits: JSONLimits

    /// Reads from the beginning of a buffer, which one document begins.
    init(_ bytes: UnsafeBufferPointer<UInt8>, limits: JSONLimits = .standard) {
        self.bytes = bytes
        self.limits = limits
        end = bytes.count
    }

    /// The byte in front of a value.
    private enum Tag {
        static let double: UInt8 = 1
        static let string: UInt8 = 2
        static let document: UInt8 = 3
        static let array: UInt8 = 4
        static let binary: UInt8 = 5
        static let undefined: UInt8 = 6
        static let objectID: UInt8 = 7
        static let bool: UInt8 = 8
        static let dateTime: UInt8 = 9
        static let null: UInt8 = 10
        static let int32: UInt8 = 16
        static let timestamp: UInt8 = 17
        static let int64: UInt8 = 18
    }

    /// Counts a value that becomes part of a tree.
    mutating func countValue() throws(WireError) {
        values += 1
        guard values <= limits.values else {
            throw WireError(.tooLarge, "there are more than \(limits.values) values")
        }
    }

    @inline(never)
    private func malformed(_ expected: StaticString) -> WireError {
        WireError(.malformedBSON, "expected \(expected) at byte \(position)")
    }

    /// Passes bytes of the document and returns where they begin.
    private mutating func pass(_ count: Int) throws(WireError) -> Int {
        // Compared without a sum, which a length from outside could make overflow.
        guard count >= 0, count <= end - position else { throw malformed("more bytes in the document") }
        defer { position += count }
        return position
    }

    private mutating func integer<Value: FixedWidthInteger>(_: Value.Type) throws(WireError) -> Value {
        let start = try pass(MemoryLayout<Value>.size)
        return Value(
            littleEndian: UnsafeRawBufferPointer(bytes).loadUnaligned(fromByteOffset: start, as: Value.self))
    }

    private mutating func byte() throws(WireError) -> UInt8 { bytes[try pass(1)] }

    /// Passes a name with its end.
    private mutating func name() throws(WireError) -> UnsafeBufferPointer<UInt8> {
        let start = position
        var seen: UInt8 = 0
        while position < end, bytes[position] != 0 {
            seen |= bytes[position]
            position += 1
        }
        guard position < end else { throw malformed("the end of a name") }
        let name = UnsafeBufferPointer(rebasing: bytes[start..<position])
        position += 1
        guard seen < 0x80 || UTF8Check.isValid(name) else { throw malformed("UTF-8") }
        return name
    }

    /// Passes the content of a text with its length and its end.
    private mutating func content() throws(WireError) -> UnsafeBufferPointer<UInt8> {
        guard type == Tag.string else { throw malformed("a text") }
        let length = Int(try integer(Int32.self))
        guard length >= 1 else { throw malformed("a length from 1") }
        let start = try pass(length)
        guard bytes[start + length - 1] == 0 else { throw malformed("the end of a text") }
        let content = UnsafeBufferPointer(rebasing: bytes[start..<start + length - 1])
        guard UTF8Check.isValid(content) else { throw malformed("UTF-8") }
        return content
    }

    /// Passes a document or an array; `member` must read or skip the value of each name.
    private mutating func members(
        _ member: (UnsafeBufferPointer<UInt8>, inout BSONScanner) throws(WireError) -> Void
    ) throws(WireError) {
        depth += 1
        guard depth <= limits.depth else {
            throw WireError(.tooLarge, "arrays and objects are nested more than \(limits.depth) deep")
        }
        let (start, outerEnd) = (position, end)
        let length = Int(try integer(Int32.self))
        guard length >= 5, length <= outerEnd - start else { throw malformed("the length of a document") }
        end = start + length
        while true {
            let type = try byte()
            if type == 0 { break }
            let name = try name()
            self.type = type
            try member(name, &self)
        }
        guard position == end else { throw malformed("the end of a document") }
        end = outerEnd
        depth -= 1
    }
}

extension BSONScanner: FieldReader {
    static var passesTrailingKeys: Bool { true }

    var remaining: Int { end - position }

    func isNext(_ kind: JSONScanner.Kind) -> Bool {
        switch kind {
        case .null: type == Tag.null || type == Tag.undefined
        case .bool: type == Tag.bool
        case .number: [Tag.double, Tag.int32, Tag.int64, Tag.dateTime, Tag.timestamp].contains(type)
        case .string: type == Tag.string
        case .array: type == Tag.array
        case .object: type == Tag.document
        }
    }

    mutating func object(
        _ member: (ScannedText, inout BSONScanner) throws(WireError) -> Void
    ) throws(WireError) {
        guard type == Tag.document else { throw malformed("a document") }
        try members { (name, scanner) throws(WireError) in try member(ScannedText(name), &scanner) }
    }

    mutating func elements(
        _ element: (inout BSONScanner) throws(WireError) -> Void
    ) throws(WireError) {
        guard type == Tag.array else { throw malformed("an array") }
        // The names of elements are ignored, their order counts (client-core 5.4).
        try members { (_, scanner) throws(WireError) in try element(&scanner) }
    }

    mutating func passNull() -> Bool { isNext(.null) }

    mutating func bool() throws(WireError) -> Bool {
        guard type == Tag.bool else { throw malformed("true or false") }
        return try byte() != 0
    }

    mutating func scannedNumber() throws(WireError) -> ScannedNumber {
        switch type {
        case Tag.double: .decimal(Double(bitPattern: try integer(UInt64.self)))
        case Tag.int32: .integer(Int64(try integer(Int32.self)))
        case Tag.int64, Tag.dateTime, Tag.timestamp: .integer(try integer(Int64.self))
        default: throw malformed("a number")
        }
    }

    mutating func scannedText() throws(WireError) -> ScannedText { ScannedText(try content()) }

    mutating func text(into writer: inout TextWriter) throws(WireError) -> OperationList.Text {
        let content = try content()
        let start = writer.count
        writer.append(content)
        return OperationList.Text(offset: start, count: content.count)
    }

    mutating func skip() throws(WireError) {
        switch type {
        case Tag.string: _ = try content()
        case Tag.document, Tag.array: try members { (_, scanner) throws(WireError) in try scanner.skip() }
        case Tag.binary:
            let length = Int(try integer(Int32.self))
            // The kind of the bytes stands between their length and them.
            _ = try byte()
            _ = try pass(length)
        case Tag.undefined, Tag.null: break
        case Tag.objectID: _ = try pass(12)
        case Tag.bool: _ = try byte()
        case Tag.double, Tag.dateTime, Tag.timestamp, Tag.int64: _ = try pass(8)
        case Tag.int32: _ = try pass(4)
        default: throw malformed("a known type")
        }
    }
}
