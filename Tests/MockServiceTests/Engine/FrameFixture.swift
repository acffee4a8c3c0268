import PowerSyncServiceEngine
import PowerSyncTestSupport
import PowerSyncWire

/// A frame of operations that a test knows, and the line that it must become.
struct FrameFixture {
    /// Names for the numbers that random operations have, of which some must be escaped.
    static let names = {
        var names = FrameNames()
        for number in Int64(0)..<300 {
            names.types[number] = number % 5 == 0 ? "t\"\\\u{1}é\(number)" : "t\(number)"
            names.tables[number] = number % 7 == 0 ? "\"uuid\"\n\(number)" : "uuid-\(number)"
        }
        return names
    }()

    let operations: [SampleOperation]
    let frame: Frame

    /// Makes a frame.
    ///
    /// - Parameters:
    ///   - operations: Its operations, at least one.
    ///   - bucket: Their bucket.
    ///   - after: The operation before them.
    init(_ operations: [SampleOperation], bucket: Int64 = 1, after: OperationID = 0) {
        var builder = SegmentBuilder(limit: .max)
        for operation in operations { _ = operation.append(to: &builder) }
        guard let segment = builder.finish() else { preconditionFailure("a frame has operations") }
        self.operations = operations
        frame = Frame(segment, of: bucket, after: after, Self.names)
    }

    /// Makes a frame of any operations behind an id.
    init(
        upTo count: Int, bucket: Int64 = 1, after: OperationID = 0, _ random: inout SeededRandom
    ) {
        var operations: [SampleOperation] = []
        for _ in 0...random.below(count) {
            operations.append(SampleOperation(behind: operations.last?.id ?? after, &random))
        }
        self.init(operations, bucket: bucket, after: after)
    }

    /// The operations as lines have them.
    var wire: [Operation] { operations.map(Self.wire) }

    /// An operation as lines have it.
    static func wire(_ operation: SampleOperation) -> Operation {
        let hasRow = operation.kind == .put || operation.kind == .remove
        let table = names.tables[operation.sourceTable] ?? ""
        return Operation(
            id: operation.id, kind: operation.kind,
            objectType: hasRow ? names.types[operation.outputType] : nil,
            objectID: hasRow ? operation.objectID : nil,
            subkey: hasRow ? "\(table)/\(operation.replicaID.text)" : nil,
            checksum: operation.checksum, data: operation.kind == .put ? operation.data : nil)
    }

    /// The data line of the frame.
    func line(of bucket: String, after: OperationID, hasMore: Bool) -> SyncLine {
        .data(
            DataLine(
                bucket: bucket, after: after, nextAfter: operations.last?.id, hasMore: hasMore,
                operations: OperationList(wire)))
    }
}

extension SyncLine {
    /// The bytes of the line with its end, as they were made before there were frames.
    func bytes(_ format: LineForm.Format) -> [UInt8] {
        switch format {
        case .raw: encoded(rawData: true) + [0x0A]
        case .nested: encoded(rawData: false) + [0x0A]
        case .bson: encodedBSON()
        }
    }
}

extension EncodedLine {
    /// Takes all that is left of the line.
    func taken() -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let pieces = next(.max)
            if pieces.isEmpty { return bytes }
            for piece in pieces { bytes += piece.bytes }
        }
    }
}
