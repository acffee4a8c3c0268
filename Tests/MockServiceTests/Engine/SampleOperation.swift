import PowerSyncServiceEngine
import PowerSyncTestSupport
import PowerSyncWire

extension OperationRecord {
    /// Appends the record of a PUT: that of a REMOVE, and the data.
    static func appendPut(
        _ checksum: Checksum, sourceTable: Int64, outputType: Int64, replicaID: ReplicaID,
        objectID: some Collection<UInt8>, data: some Collection<UInt8>, to bytes: inout [UInt8]
    ) {
        appendRemove(
            checksum, sourceTable: sourceTable, outputType: outputType, replicaID: replicaID,
            objectID: objectID, to: &bytes)
        Varint.append(data.count, to: &bytes)
        bytes.append(contentsOf: data)
    }
}

/// An operation whose fields a test knows, to be packed and compared.
struct SampleOperation: Hashable {
    var id: OperationID
    var kind = Operation.Kind.put
    var checksum: Checksum
    var sourceTable: Int64 = 1
    var outputType: Int64 = 1
    var replicaID = ReplicaID(bytes: [UInt8](0..<16))
    var objectID = ""
    var data = ""
    /// 0 for none.
    var target: OperationID = 0

    /// The record behind the first varint.
    var record: [UInt8] {
        var bytes: [UInt8] = []
        switch kind {
        case .put:
            OperationRecord.appendPut(
                checksum, sourceTable: sourceTable, outputType: outputType, replicaID: replicaID,
                objectID: objectID.utf8, data: data.utf8, to: &bytes)
        case .remove:
            OperationRecord.appendRemove(
                checksum, sourceTable: sourceTable, outputType: outputType, replicaID: replicaID,
                objectID: objectID.utf8, to: &bytes)
        case .move, .clear:
            OperationRecord.appendPlaceholder(checksum, distance: target == 0 ? 0 : target - id, to: &bytes)
        }
        return bytes
    }

    /// Adds it to a builder; returns the segment that was full.
    func append(to builder: inout SegmentBuilder) -> PackedSegment? {
        builder.append(kind, id: id, record: record, checksum: checksum, target: target)
    }

    /// Reads the operation of an entry.
    init(_ entry: SegmentBody.Entry, of body: SegmentBody) {
        id = entry.id
        kind = entry.kind
        checksum = entry.record.checksum
        target = entry.target
        switch entry.record.content {
        case .move, .clear: break
        case .remove(let row): take(row, of: body)
        case .put(let row, let text):
            take(row, of: body)
            data = body.text(text)
        }
    }

    private mutating func take(_ row: OperationRecord.Row, of body: SegmentBody) {
        sourceTable = row.sourceTable
        outputType = row.outputType
        replicaID = ReplicaID(bytes: [UInt8](body[row.replicaID]))
        objectID = body.text(row.objectID)
    }

    init(
        id: OperationID, kind: Operation.Kind = .put, checksum: Checksum, sourceTable: Int64 = 1,
        outputType: Int64 = 1, objectID: String = "", data: String = "", target: OperationID = 0
    ) {
        self.id = id
        self.kind = kind
        self.checksum = checksum
        self.sourceTable = sourceTable
        self.outputType = outputType
        self.objectID = objectID
        self.data = data
        self.target = target
    }

    /// Any operation behind an id.
    init(behind last: OperationID, _ random: inout SeededRandom) {
        id = last + 1 + OperationID(random.once(in: 10) ? random.below(1 << 40) : random.below(3))
        kind = random.pick(weighted: [(6, .put), (3, .remove), (1, .move), (1, .clear)])
        checksum = Checksum(UInt32(truncatingIfNeeded: random.next()))
        switch kind {
        case .put, .remove:
            sourceTable = Int64(random.below(300))
            outputType = Int64(random.below(300))
            replicaID = ReplicaID(bytes: (0..<16).map { _ in UInt8(truncatingIfNeeded: random.next()) })
            objectID = Self.text(&random, upTo: 40)
            if kind == .put { data = Self.text(&random, upTo: random.once(in: 20) ? 3000 : 200) }
        case .move, .clear:
            if !random.once(in: 3) { target = id + 1 + OperationID(random.below(1 << 30)) }
        }
    }

    /// Operations with ascending ids.
    static func list(_ count: Int, _ random: inout SeededRandom) -> [SampleOperation] {
        var list: [SampleOperation] = []
        for _ in 0..<count {
            list.append(SampleOperation(behind: list.last?.id ?? 0, &random))
        }
        return list
    }

    /// Any text of so many scalars, of one to four bytes each.
    static func text(_ random: inout SeededRandom, upTo count: Int) -> String {
        var text = ""
        for _ in 0..<random.below(count + 1) {
            text += random.pick(
                weighted: [(20, "a"), (5, "\""), (3, "é"), (2, "€"), (2, "😀"), (1, "\u{0}")])
        }
        return text
    }
}
