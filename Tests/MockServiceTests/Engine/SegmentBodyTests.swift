import PowerSyncServiceEngine
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// DESIGN.md, 1: segment body.
@Suite(.namesSeed)
struct SegmentBodyTests {
    /// A PUT, a REMOVE, a MOVE with a target and a CLEAR without.
    private static let operations = [
        SampleOperation(
            id: 5, checksum: Checksum(0x0403_0201), sourceTable: 1, outputType: 2, objectID: "a", data: "{}"),
        SampleOperation(
            id: 300, kind: .remove, checksum: Checksum(0xFFFF_FFFF), sourceTable: 300, outputType: 1,
            objectID: ""),
        SampleOperation(id: 301, kind: .move, checksum: Checksum(7), target: 305),
        SampleOperation(id: 302, kind: .clear, checksum: Checksum(signed: -2)),
    ]

    private static let bytes: [UInt8] = {
        // 5 · 4 + 0, checksum, table, type, replica id, id, data.
        var bytes = around([1, 20, 1, 2, 3, 4, 1, 2], [1, 0x61, 2, 0x7B, 0x7D])
        // 295 · 4 + 1 = 1181.
        bytes += around([0x9D, 0x09, 0xFF, 0xFF, 0xFF, 0xFF, 0xAC, 0x02, 1], [0])
        // 1 · 4 + 2, and the target 4 behind.
        bytes += [6, 7, 0, 0, 0, 4]
        // 1 · 4 + 3, and no target.
        bytes += [7, 0xFE, 0xFF, 0xFF, 0xFF, 0]
        return bytes
    }()

    /// A replica id with what stands before and behind it.
    private static func around(_ before: [UInt8], _ behind: [UInt8]) -> [UInt8] {
        before + [UInt8](0..<16) + behind
    }

    private static func packed(_ operations: [SampleOperation]) -> PackedSegment? {
        var builder = SegmentBuilder(limit: .max)
        for operation in operations {
            let full = operation.append(to: &builder)
            #expect(full == nil)
        }
        return builder.finish()
    }

    private static func walked(_ bytes: [UInt8], behind after: OperationID = 0) throws -> [SampleOperation] {
        try bytes.withUnsafeBytes { buffer in
            var body = try SegmentBody(buffer)
            try body.skip(through: after)
            var operations: [SampleOperation] = []
            while let entry = try body.next() { operations.append(SampleOperation(entry, of: body)) }
            return operations
        }
    }

    @Test func operationsHaveTheBytesOfTheFormat() throws {
        let segment = try #require(Self.packed(Self.operations))
        #expect(segment.body == Self.bytes)
        #expect(try Self.walked(Self.bytes) == Self.operations)
    }

    @Test func theRowSaysWhatIsInTheBody() throws {
        let summary = try #require(Self.packed(Self.operations)).summary
        #expect(summary.firstOperation == 5 && summary.lastOperation == 302 && summary.count == 4)
        #expect(summary.maxTarget == 305)
        // −1 and −2 and the other two.
        #expect(summary.checksum == Checksum(0x0403_0201 + 7 - 3))
        let walked = try Self.bytes.withUnsafeBytes { try SegmentBody.summary(of: $0) }
        #expect(walked == summary)
    }

    @Test func aBodyWithoutOperationsIsRead() throws {
        let bytes: [UInt8] = [1]
        let summary = try bytes.withUnsafeBytes { try SegmentBody.summary(of: $0) }
        #expect(summary == SegmentSummary())
        #expect(try Self.walked(bytes).isEmpty)
    }

    @Test func operationsReadBack() async throws {
        try await forEachSeed(100) { random in
            let operations = SampleOperation.list(1 + random.below(60), &random)
            let segment = try #require(Self.packed(operations))
            #expect(try Self.walked(segment.body) == operations)
            let summary = try segment.body.withUnsafeBytes { try SegmentBody.summary(of: $0) }
            #expect(summary == segment.summary)
            #expect(summary.firstOperation == operations.first?.id)
            #expect(summary.lastOperation == operations.last?.id)
            #expect(summary.count == Int64(operations.count))
            #expect(summary.checksum == operations.reduce(Checksum.zero) { $0 + $1.checksum })
            #expect(summary.maxTarget == operations.map(\.target).max())
        }
    }

    @Test func isCutAtAnyPosition() async throws {
        try await forEachSeed(50) { random in
            let operations = SampleOperation.list(1 + random.below(30), &random)
            let segment = try #require(Self.packed(operations))
            // Before, at, between and behind all ids.
            let positions = operations.flatMap { [$0.id - 1, $0.id, $0.id + 1] } + [0, .max]
            for position in positions {
                #expect(
                    try Self.walked(segment.body, behind: position)
                        == operations.filter { $0.id > position }, "behind \(position)")
            }
        }
    }

    @Test func theLargestIdLeavesRoomForTheKind() throws {
        let last = SegmentBody.largestID
        let operations = [
            SampleOperation(id: last - 1, kind: .move, checksum: .zero, target: last),
            SampleOperation(id: last, kind: .clear, checksum: .zero),
        ]
        let segment = try #require(Self.packed(operations))
        #expect(try Self.walked(segment.body) == operations)
        // One more.
        #expect(throws: StoreError.self) { try Self.walked(segment.body + [6, 0, 0, 0, 0, 0]) }
        // A target behind the largest id.
        let beyond = SampleOperation(id: last, kind: .move, checksum: .zero, target: last + 1)
        let refused = try #require(Self.packed([beyond]))
        #expect(throws: StoreError.self) { try Self.walked(refused.body) }
    }

    private static let noSegments: [[UInt8]] = [
        [], [0], [2],
        // No step to the next id.
        [1, 0, 0, 0, 0, 0, 1],
        around([1, 4, 0, 0, 0, 0, 1, 1], [0, 0, 2, 0, 0, 0, 0, 0]),
        // A PUT that ends in its checksum, replica id, id, before its data, in its data.
        [1, 4, 0, 0, 0],
        [1, 4, 0, 0, 0, 0, 1, 1, 0, 1, 2],
        around([1, 4, 0, 0, 0, 0, 1, 1], [2, 0x61]),
        around([1, 4, 0, 0, 0, 0, 1, 1], [1, 0x61]),
        around([1, 4, 0, 0, 0, 0, 1, 1], [1, 0x61, 3, 0x7B, 0x7D]),
        // A length of 2⁶⁴ − 1.
        around([1, 5, 0, 0, 0, 0, 1, 1], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]),
        // A target that has no end.
        [1, 6, 0, 0, 0, 0, 0x80],
    ]

    @Test(arguments: noSegments.indices) func refusesWhatIsNoSegment(_ index: Int) {
        #expect(throws: StoreError.self) { try Self.walked(Self.noSegments[index]) }
    }

    /// Whatever the disk has made of a segment, walking it ends, in operations or in an error.
    @Test func damagedBytesAreNoTrap() async throws {
        var refused = 0
        try await forEachSeed(300) { random in
            let segment = try #require(Self.packed(SampleOperation.list(1 + random.below(10), &random)))
            var bytes = segment.body
            for _ in 0...random.below(3) {
                let place = random.below(bytes.count)
                switch random.below(4) {
                case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes.removeSubrange(place...)
                case 2: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
                default: bytes.remove(at: place)
                }
                if bytes.isEmpty { bytes = [1] }
            }
            do {
                var last: OperationID = 0
                for operation in try Self.walked(bytes) {
                    #expect(operation.id > last && operation.id <= SegmentBody.largestID)
                    last = operation.id
                }
                _ = try SegmentBuilder.merge([bytes])
            } catch is StoreError {
                refused += 1
            }
        }
        // A seed of its own may be one that is read.
        #expect(refused > 0 || TestOptions.number("POWERSYNC_SEED", standard: -1) >= 0)
    }
}
