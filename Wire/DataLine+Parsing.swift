extension DataLine {
    init<Reader: FieldReader>(from reader: inout Reader) throws(WireError) {
        var bucket: String?
        var operations: OperationList?
        var line = DataLine(bucket: "", operations: [])
        try reader.object { (name, reader) throws(WireError) in
            switch name {
            case "bucket": bucket = try reader.string()
            case "data": operations = try OperationList(from: &reader)
            // The client ignores these three (client-core 5.3); they are kept where they are of the usual type.
            case "after": line.after = try reader.lenientDecimal()
            case "next_after": line.nextAfter = try reader.lenientDecimal()
            case "has_more":
                if try reader.isNext(.bool) { line.hasMore = try reader.bool() } else { try reader.skip() }
            default: try reader.skip()
            }
        }
        line.bucket = try required(bucket, "data.bucket")
        line.operations = try required(operations, "data.data")
        self = line
    }
}

extension OperationList {
    /// Reads an array of operations, their texts straight into one buffer.
    fileprivate init<Reader: FieldReader>(from reader: inout Reader) throws(WireError) {
        var entries: [Entry] = []
        var failure: WireError?
        let bytes = [UInt8](unsafeUninitializedCapacity: reader.remaining) { buffer, count in
            var writer = TextWriter(buffer)
            do throws(WireError) {
                try reader.elements { (reader) throws(WireError) in
                    entries.append(try Entry(from: &reader, into: &writer))
                }
            } catch {
                failure = error
            }
            count = writer.count
        }
        if let failure { throw failure }
        self.init(bytes: bytes, entries: entries)
    }
}

extension OperationList.Entry {
    fileprivate init<Reader: FieldReader>(
        from reader: inout Reader, into writer: inout TextWriter
    ) throws(WireError) {
        var id: OperationID?
        var kind: Operation.Kind?
        var checksum: Checksum?
        var entry = OperationList.Entry(id: 0, kind: .move, checksum: .zero)
        try reader.object { (name, reader) throws(WireError) in
            switch name {
            case "op_id": id = try reader.decimal("op_id")
            case "op": kind = try Operation.Kind(try reader.scannedText())
            case "checksum": checksum = try reader.checksum()
            case "object_type": entry.objectType = try reader.optionalText(into: &writer)
            case "object_id": entry.objectID = try reader.optionalText(into: &writer)
            case "subkey": entry.subkey = try reader.optionalText(into: &writer)
            case "data": entry.data = try reader.optionalText(into: &writer)
            default: try reader.skip()
            }
        }
        entry.id = try required(id, "op_id")
        entry.kind = try required(kind, "op")
        entry.checksum = try required(checksum, "checksum")
        self = entry
    }
}

extension Operation.Kind {
    fileprivate init(_ text: ScannedText) throws(WireError) {
        switch text {
        case "PUT": self = .put
        case "REMOVE": self = .remove
        case "MOVE": self = .move
        case "CLEAR": self = .clear
        default: throw .field("op", "PUT, REMOVE, MOVE or CLEAR")
        }
    }
}
