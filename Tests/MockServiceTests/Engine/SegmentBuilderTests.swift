import PowerSyncServiceEngine
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// DESIGN.md, 1: the length of segments, and merging.
@Suite(.namesSeed)
struct SegmentBuilderTests {
    private static func segments(_ operations: [SampleOperation], limit: Int) -> [PackedSegment] {
        var builder = SegmentBuilder(limit: limit)
        var segments = operations.compactMap { $0.append(to: &builder) }
        if let rest = builder.finish() { segments.append(rest) }
        return segments
    }

    private static func walked(_ segments: [PackedSegment]) throws -> [SampleOperation] {
        try segments.flatMap { segment in
            try segment.body.withUnsafeBytes { buffer in
                var body = try SegmentBody(buffer)
                var operations: [SampleOperation] = []
                while let entry = try body.next() { operations.append(SampleOperation(entry, of: body)) }
                return operations
            }
        }
    }

    @Test func endsASegmentThatIsFull() throws {
        // Records of 24 bytes with an empty id and no data, each with one for the varint before it; one for the format.
        let operations = (OperationID(1)...7).map { SampleOperation(id: $0, checksum: Checksum(1)) }
        #expect(operations[0].record.count == 24)
        let segments = Self.segments(operations, limit: 1 + 3 * 25)
        #expect(segments.map(\.summary.count) == [3, 3, 1])
        #expect(segments.map(\.body.count) == [76, 76, 26])
        #expect(segments.map(\.summary.firstOperation) == [1, 4, 7])
        #expect(try Self.walked(segments) == operations)
        // With one byte less a third one does not fit.
        #expect(Self.segments(operations, limit: 3 * 25).map(\.summary.count) == [2, 2, 2, 1])
    }

    @Test func aLargerOperationGoesAlone() throws {
        let operations = [
            SampleOperation(id: 1, checksum: Checksum(1), data: "{}"),
            SampleOperation(id: 2, checksum: Checksum(1), data: String(repeating: "x", count: 500)),
            SampleOperation(id: 3, checksum: Checksum(1), data: "{}"),
        ]
        let segments = Self.segments(operations, limit: 200)
        #expect(segments.map(\.summary.count) == [1, 1, 1])
        #expect(try Self.walked(segments) == operations)
    }

    @Test func nothingMakesNoSegment() {
        var builder = SegmentBuilder(limit: 100)
        let before = builder.finish()
        let full = SampleOperation(id: 9, checksum: .zero).append(to: &builder)
        #expect(before == nil && full == nil && builder.byteCount == 26)
        let segment = builder.finish()
        #expect(segment?.summary.count == 1 && builder.byteCount == 1)
        let after = builder.finish()
        #expect(after == nil)
    }

    @Test func theLimitOfProductionIsAQuarterOfAMegabyte() {
        #expect(StoreLimits().segmentBytes == 262_144)
    }

    @Test func operationsReadBackFromSegmentsOfAnyLength() async throws {
        try await forEachSeed(60) { random in
            let operations = SampleOperation.list(random.below(80), &random)
            let limit = 1 + random.below(4000)
            let segments = Self.segments(operations, limit: limit)
            #expect(try Self.walked(segments) == operations)
            #expect(segments.allSatisfy { $0.body.count <= limit || $0.summary.count == 1 })
            for segment in segments {
                let summary = try segment.body.withUnsafeBytes { try SegmentBody.summary(of: $0) }
                #expect(summary == segment.summary)
            }
        }
    }

    /// Whatever lengths the segments had before, the merged ones are those that would have been made at once.
    @Test func mergedSegmentsAreThoseOfAllOperations() async throws {
        try await forEachSeed(60) { random in
            let operations = SampleOperation.list(random.below(80), &random)
            var rest = operations[...]
            var bodies: [[UInt8]] = []
            while !rest.isEmpty {
                let part = rest.prefix(1 + random.below(5))
                rest = rest.dropFirst(part.count)
                bodies += Self.segments(Array(part), limit: .max).map(\.body)
            }
            let limit = 1 + random.below(4000)
            let merged = try SegmentBuilder.merge(bodies, limit: limit)
            #expect(merged == Self.segments(operations, limit: limit))
            // Merged once more, nothing is left to do.
            #expect(try SegmentBuilder.merge(merged.map(\.body), limit: limit) == merged)
        }
    }

    @Test func refusesToMergeWhatDoesNotAscend() throws {
        let first = Self.segments([SampleOperation(id: 7, checksum: .zero)], limit: .max)[0].body
        let second = Self.segments([SampleOperation(id: 8, checksum: .zero)], limit: .max)[0].body
        #expect(try SegmentBuilder.merge([first, second]).map(\.summary.count) == [2])
        #expect(throws: StoreError.self) { try SegmentBuilder.merge([second, first]) }
        #expect(throws: StoreError.self) { try SegmentBuilder.merge([first, first]) }
        #expect(throws: StoreError.self) { try SegmentBuilder.merge([first, [2]]) }
    }

    @Test func idsThatDoNotAscendAreOurMistake() async {
        await #expect(processExitsWith: .failure) {
            var builder = SegmentBuilder(limit: 100)
            _ = builder.append(.put, id: 2, record: [UInt8](), checksum: .zero)
            _ = builder.append(.put, id: 2, record: [UInt8](), checksum: .zero)
        }
    }
}
