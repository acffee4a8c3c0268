import PowerSyncWire

/// Writes operations as a data line has them, from where segments hold them (service 1.6, 1.7, 4.1).
///
/// What it makes is the same, byte for byte, as what ``SyncLine`` makes of a list of ``Operation``s; no text becomes a
/// `String` on the way.
package struct OperationEncoder {
    /// What an operation takes beside its record, in about: field names, digits, the subkey's UUIDs.
    private static let overhead = 240
    /// For how many bytes more a piece has room: escaping takes them for a moment (``JSON/appendEscaped(_:to:)``).
    private static let spareRoom = 2 << 10
    private static let allTexts = Texts()

    private let format: LineForm.Format
    private let isNested: Bool
    private let texts = OperationEncoder.allTexts
    private var types: Spellings
    private var tables: Spellings
    private var pieces: [[UInt8]] = []
    private var piece: [UInt8] = []
    private var count = 0
    /// How many bytes are still expected.
    private var expected: Int

    /// Begins without operations.
    ///
    /// - Parameters:
    ///   - format: How to spell them.
    ///   - names: Their names.
    ///   - bytes: How many bytes their records have together, as far as is known: room is made for no more than that.
    ///   - operations: How many there are.
    package init(_ format: LineForm.Format, _ names: FrameNames, bytes: Int, operations: Int) {
        self.format = format
        isNested = format == .nested
        expected = Self.expected(bytes, operations)
        switch format {
        case .raw, .nested:
            types = Spellings(names.types) { name in
                var bytes: [UInt8] = []
                JSON.appendQuoted(name, to: &bytes)
                bytes.append(contentsOf: ",\"object_id\":\"".utf8)
                return bytes
            }
            tables = Spellings(names.tables) { name in
                var bytes = Array(",\"subkey\":\"".utf8)
                var name = name
                name.withUTF8 { JSON.appendEscaped(UnsafeRawBufferPointer($0), to: &bytes) }
                bytes.append(UInt8(ascii: "/"))
                return bytes
            }
        case .bson:
            types = Spellings(names.types) { name in
                BSONText.element("object_type", name) + BSONText.name("object_id")
            }
            tables = Spellings(names.tables) { name in
                var bytes = BSONText.name("subkey")
                // With the slash, the UUID and the end.
                bytes += BSONText.number(Int32(name.utf8.count + 1 + 36 + 1))
                bytes.append(contentsOf: name.utf8)
                bytes.append(UInt8(ascii: "/"))
                return bytes
            }
        }
    }

    private static func expected(_ bytes: Int, _ operations: Int) -> Int {
        bytes + bytes / 4 + operations * overhead
    }

    /// Adds an operation.
    ///
    /// - Parameters:
    ///   - entry: The operation.
    ///   - body: Lends its bytes.
    /// - Throws: `StoreError` if it has a number that has no name.
    package mutating func append(_ entry: SegmentBody.Entry, of body: SegmentBody) throws(StoreError) {
        let size = Self.expected(entry.bytes.count, 1)
        if piece.isEmpty {
            makeRoom(for: max(size, expected))
        } else if piece.count + size > LinePiece.most {
            endPiece(expecting: max(size, expected))
        }
        expected -= size
        if format == .bson {
            try appendBSON(entry, of: body)
        } else {
            if count > 0 { piece.append(UInt8(ascii: ",")) }
            try appendJSON(entry, of: body)
        }
        count += 1
    }

    /// Returns all operations, in pieces of about `LinePiece.most` bytes.
    package mutating func finish() -> [[UInt8]] {
        if !piece.isEmpty { pieces.append(piece.withoutSpareRoom) }
        piece = []
        return pieces
    }

    // MARK: Pieces

    private mutating func makeRoom(for bytes: Int) {
        piece.reserveCapacity(min(bytes, LinePiece.most) + Self.spareRoom)
    }

    private mutating func endPiece(expecting bytes: Int) {
        pieces.append(piece.withoutSpareRoom)
        piece = []
        makeRoom(for: bytes)
    }

    /// Appends a text of any length; a long one goes on in further pieces.
    private mutating func append(_ text: UnsafeRawBufferPointer, isEscaped: Bool) {
        var place = 0
        while place < text.count {
            if piece.count >= LinePiece.most { endPiece(expecting: text.count - place) }
            let end = min(text.count, place + LinePiece.most - piece.count)
            let part = UnsafeRawBufferPointer(rebasing: text[place..<end])
            if isEscaped { JSON.appendEscaped(part, to: &piece) } else { piece.append(contentsOf: part) }
            place = end
        }
    }

    /// Appends a UUID in lower case with dashes.
    private mutating func append(uuid: UnsafeRawBufferPointer) {
        var place = piece.count
        piece.append(contentsOf: repeatElement(UInt8(ascii: "-"), count: 36))
        piece.withUnsafeMutableBufferPointer { bytes in
            for (index, byte) in uuid.enumerated() {
                if index == 4 || index == 6 || index == 8 || index == 10 { place += 1 }
                bytes[place] = Self.digit(byte >> 4)
                bytes[place + 1] = Self.digit(byte & 0xF)
                place += 2
            }
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    // MARK: JSON

    private mutating func appendJSON(_ entry: SegmentBody.Entry, of body: SegmentBody) throws(StoreError) {
        piece += texts.id
        JSON.appendInteger(entry.id, to: &piece)
        switch entry.record.content {
        case .put(let row, let data):
            try appendJSON(texts.put, row, entry.record.checksum, of: body)
            piece += isNested ? texts.nestedData : texts.rawData
            append(body[data], isEscaped: !isNested)
            piece += isNested ? texts.end : texts.quotedEnd
        case .remove(let row):
            try appendJSON(texts.remove, row, entry.record.checksum, of: body)
            piece += texts.removeEnd
        case .move:
            piece += texts.move
            JSON.appendInteger(Int64(entry.record.checksum.value), to: &piece)
            piece += isNested ? texts.nestedEnd : texts.end
        case .clear:
            piece += texts.clear
            // A sum, which the service stores and sends signed (service 4.2).
            JSON.appendInteger(Int64(entry.record.checksum.signed), to: &piece)
            piece += isNested ? texts.nestedEnd : texts.end
        }
    }

    /// Appends what PUT and REMOVE have between id and data.
    private mutating func appendJSON(
        _ kind: [UInt8], _ row: OperationRecord.Row, _ checksum: Checksum, of body: SegmentBody
    ) throws(StoreError) {
        piece += kind
        piece += try types.bytes(of: row.outputType)
        append(body[row.objectID], isEscaped: true)
        piece += texts.checksum
        JSON.appendInteger(Int64(checksum.value), to: &piece)
        piece += try tables.bytes(of: row.sourceTable)
        append(uuid: body[row.replicaID])
    }

    // MARK: BSON

    private mutating func appendBSON(_ entry: SegmentBody.Entry, of body: SegmentBody) throws(StoreError) {
        piece.append(3)
        JSON.appendInteger(Int64(count), to: &piece)
        piece.append(0)
        let start = piece.count
        // The length, which is known when all but the data is there.
        appendBytes(of: Int32(0))
        piece += texts.bsonID
        appendCounted { JSON.appendInteger(entry.id, to: &$0.piece) }
        switch entry.record.content {
        case .put(let row, let data):
            try appendBSON(texts.bsonPut, row, entry.record.checksum, of: body)
            piece += texts.bsonData
            appendBytes(of: Int32(data.count + 1))
            setLength(from: start, behind: data.count + 2)
            append(body[data], isEscaped: false)
            piece.append(0)
        case .remove(let row):
            try appendBSON(texts.bsonRemove, row, entry.record.checksum, of: body)
            piece += texts.bsonNoData
            setLength(from: start, behind: 1)
        case .move:
            piece += texts.bsonMove
            appendBSON(Int64(entry.record.checksum.value))
            setLength(from: start, behind: 1)
        case .clear:
            piece += texts.bsonClear
            appendBSON(Int64(entry.record.checksum.signed))
            setLength(from: start, behind: 1)
        }
        piece.append(0)
    }

    /// Appends what PUT and REMOVE have between id and data.
    private mutating func appendBSON(
        _ kind: [UInt8], _ row: OperationRecord.Row, _ checksum: Checksum, of body: SegmentBody
    ) throws(StoreError) {
        piece += kind
        piece += try types.bytes(of: row.outputType)
        appendBytes(of: Int32(row.objectID.count + 1))
        // Not in pieces, because the length of the whole is set where it begins.
        piece.append(contentsOf: body[row.objectID])
        piece.append(0)
        appendBSON(Int64(checksum.value))
        piece += try tables.bytes(of: row.sourceTable)
        append(uuid: body[row.replicaID])
        piece.append(0)
    }

    /// Appends a checksum as JavaScript writes numbers: in 32 bits if it fits, else as a double (service 1.6).
    private mutating func appendBSON(_ checksum: Int64) {
        if let narrow = Int32(exactly: checksum) {
            piece += texts.bsonNarrowChecksum
            appendBytes(of: narrow)
        } else {
            piece += texts.bsonWideChecksum
            appendBytes(of: Double(checksum).bitPattern)
        }
    }

    private mutating func appendBytes(of number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.littleEndian) { piece.append(contentsOf: $0) }
    }

    /// Appends a text and its end, with its length before it.
    private mutating func appendCounted(_ write: (inout OperationEncoder) -> Void) {
        let start = piece.count
        appendBytes(of: Int32(0))
        write(&self)
        piece.append(0)
        set(Int32(piece.count - start - 4), at: start)
    }

    /// Says how long a document is that ends so many bytes behind the ones that are there.
    private mutating func setLength(from start: Int, behind count: Int) {
        set(Int32(piece.count - start + count), at: start)
    }

    private mutating func set(_ number: Int32, at place: Int) {
        piece.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: number.littleEndian, toByteOffset: place, as: Int32.self)
        }
    }
}

/// The names of a frame as a form has them, with what stands beside them; each is spelled once.
private struct Spellings {
    private let all: [Int64: [UInt8]]
    /// Most frames are of one table.
    private var last: (id: Int64, bytes: [UInt8]) = (-1, [])

    init(_ names: [Int64: String], _ spell: (String) -> [UInt8]) { all = names.mapValues(spell) }

    mutating func bytes(of id: Int64) throws(StoreError) -> [UInt8] {
        if id == last.id { return last.bytes }
        guard let bytes = all[id] else { throw .unreadableRow }
        last = (id, bytes)
        return bytes
    }
}

/// What stands between the values of operations.
private struct Texts {
    let id = Array("{\"op_id\":\"".utf8)
    let put = Array("\",\"op\":\"PUT\",\"object_type\":".utf8)
    let remove = Array("\",\"op\":\"REMOVE\",\"object_type\":".utf8)
    let move = Array("\",\"op\":\"MOVE\",\"checksum\":".utf8)
    let clear = Array("\",\"op\":\"CLEAR\",\"checksum\":".utf8)
    let checksum = Array("\",\"checksum\":".utf8)
    let rawData = Array("\",\"data\":\"".utf8)
    let nestedData = Array("\",\"data\":".utf8)
    let quotedEnd = Array("\"}".utf8)
    let end = Array("}".utf8)
    let removeEnd = Array("\",\"data\":null}".utf8)
    let nestedEnd = Array(",\"data\":null}".utf8)

    let bsonID = BSONText.name("op_id")
    let bsonPut = BSONText.element("op", "PUT")
    let bsonRemove = BSONText.element("op", "REMOVE")
    let bsonMove = BSONText.element("op", "MOVE")
    let bsonClear = BSONText.element("op", "CLEAR")
    let bsonData = BSONText.name("data")
    let bsonNoData = BSONText.name("data", type: 10)
    let bsonNarrowChecksum = BSONText.name("checksum", type: 16)
    let bsonWideChecksum = BSONText.name("checksum", type: 1)
}
