import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Frames of a bucket, read from segments.
@Suite(.namesSeed)
struct StoreFrameTests {
    /// A line of a frame is the line of the operations that are read one by one.
    @Test func aFrameIsAsOperationsThatAreReadOneByOne() async throws {
        try await forEachSeed(20) { random in
            let file = try StoreFile()
            defer { file.close() }
            let groups = 1 + random.below(4)
            for _ in 0..<groups {
                let made = SampleOperation.list(1 + random.below(30), &random)
                let writes = made.map { operation in
                    var operation = operation
                    // Of the tables and types that the file has.
                    operation.sourceTable = 1
                    operation.outputType = 1 + operation.outputType % 2
                    return StoreFile.Write(bucket: "b[]", operation: operation)
                }
                try file.store(writes, visible: writes.count, limit: 100 + random.below(1000))
            }
            let bucket = try #require(
                try file.reader.one("SELECT id FROM bucket WHERE name = 'b[]'") { $0.int64(0) })
            for _ in 0..<10 {
                let after = OperationID(random.below(Int(file.last) + 2))
                let last = OperationID(random.below(Int(file.last) + 2))
                let (rows, bytes) = (1 + random.below(20), 1 + random.below(3000))
                let chunk = try StoreReading.chunk(
                    bucket: bucket, after: after, upTo: last, rows: rows, bytes: bytes, file.reader)
                // The bucket's last operation at that checkpoint.
                let all = try StoreReading.chunk(
                    bucket: bucket, after: 0, upTo: last, rows: .max, bytes: .max, file.reader)
                let end = all.operations.last?.id ?? 0
                let request = FrameRequest(
                    bucket: bucket, after: after, last: end, rows: rows, bytes: bytes)
                let frame = try StoreReading.frame(request, file.reader)
                #expect((frame == nil) == chunk.operations.isEmpty)
                guard let frame else { continue }
                #expect(frame.bucket == bucket && frame.after == after)
                #expect(frame.last == chunk.operations.last?.id && frame.count == chunk.operations.count)
                #expect(frame.hasMore(request) == chunk.isCut)
                let line = SyncLine.data(
                    DataLine(
                        bucket: "b[]", after: after, nextAfter: frame.last, hasMore: chunk.isCut,
                        operations: OperationList(chunk.operations)))
                for format in LineForm.Format.allCases {
                    let made = try LineEncoder(format, BlockCompressors()).encode(
                        frame, of: "b[]", after: after, hasMore: frame.hasMore(request))
                    try #require(made.taken() == line.bytes(format))
                }
            }
        }
    }

    /// They have no data, and nothing else bounds how long a line of a thousand becomes.
    @Test func idsOfRemovedRowsCountAsDataDoes() throws {
        let file = try StoreFile()
        defer { file.close() }
        let remove = SampleOperation(
            id: 1, kind: .remove, checksum: Checksum(1), objectID: String(repeating: "x", count: 600_000))
        let stored = try file.store(
            (0..<3).map { _ in StoreFile.Write(bucket: "b[]", operation: remove) }, visible: 3)
        var after: OperationID = 0
        for operation in stored {
            let request = FrameRequest(
                bucket: 1, after: after, last: stored[2].id, rows: 1000, bytes: FrameRequest.lineBytes)
            let frame = try #require(try StoreReading.frame(request, file.reader))
            #expect(frame.count == 1 && frame.last == operation.id)
            #expect(frame.hasMore(request) == (frame.last < stored[2].id))
            after = frame.last
        }
    }

    @Test func targetsOfPlaceholdersAreKnown() throws {
        let file = try StoreFile()
        defer { file.close() }
        let move = SampleOperation(id: 1, kind: .move, checksum: Checksum(1), target: 51)
        let put = SampleOperation(id: 1, checksum: Checksum(1), data: "{}")
        try file.store([move, put].map { StoreFile.Write(bucket: "b[]", operation: $0) }, visible: 2)
        let request = FrameRequest(bucket: 1, after: 0, last: .max, rows: 9, bytes: 1000)
        let frame = try #require(try StoreReading.frame(request, file.reader))
        #expect(frame.maxTarget == 51 && frame.count == 2)
    }

    /// Segments say the largest target of all that they hold, and a line has a part of them.
    @Test func aFrameHasTheTargetsOfItsOwnOperations() throws {
        let file = try StoreFile()
        defer { file.close() }
        let put = SampleOperation(id: 1, checksum: Checksum(1), data: "{}")
        func move(_ distance: OperationID) -> SampleOperation {
            SampleOperation(id: 1, kind: .move, checksum: Checksum(1), target: 1 + distance)
        }
        // Two segments, whose targets are further with each operation, and nearer.
        var stored = try file.store(
            [put, move(50), move(100)].map { StoreFile.Write(bucket: "b[]", operation: $0) }, visible: 3)
        stored += try file.store(
            [move(20), put].map { StoreFile.Write(bucket: "b[]", operation: $0) }, visible: 2)
        let segments = try file.reader.query("SELECT max_target FROM segment ORDER BY id") { $0.int64(0) }
        #expect(segments == [stored[2].target, stored[3].target])
        for first in stored.indices {
            for last in first..<stored.count {
                let after = first == 0 ? 0 : stored[first - 1].id
                let request = FrameRequest(
                    bucket: 1, after: after, last: stored[last].id, rows: 9, bytes: 1000)
                let frame = try #require(try StoreReading.frame(request, file.reader))
                #expect(frame.maxTarget == stored[first...last].map(\.target).max())
                let rows = FrameRequest(
                    bucket: 1, after: after, last: .max, rows: last - first + 1, bytes: 1000)
                let cut = try #require(try StoreReading.frame(rows, file.reader))
                #expect(cut.maxTarget == frame.maxTarget && cut.last == frame.last)
            }
        }
    }

    @Test func anOperationOfATableThatIsGoneIsAnError() throws {
        let file = try StoreFile()
        defer { file.close() }
        let operation = SampleOperation(id: 1, checksum: Checksum(1), sourceTable: 2, data: "{}")
        try file.store([StoreFile.Write(bucket: "b[]", operation: operation)], visible: 1)
        let request = FrameRequest(bucket: 1, after: 0, last: .max, rows: 9, bytes: 1000)
        #expect(throws: StoreError.self) { try StoreReading.frame(request, file.reader) }
        // No transaction is left behind.
        #expect(try file.reader.one("SELECT count(*) FROM segment") { $0.int64(0) } == 1)
        try file.reader.execute("BEGIN")
        file.reader.rollBack()
    }
}
