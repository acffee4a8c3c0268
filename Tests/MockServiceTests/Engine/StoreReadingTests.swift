import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Operations of a bucket, read from segments (service 3.4).
@Suite(.namesSeed)
struct StoreReadingTests {
    private static let bucket = "s|0[]"

    /// A file with operations of one bucket, beside those of another.
    private static func file(_ operations: [SampleOperation], groups: Int, limit: Int = 300) throws
        -> (file: StoreFile, bucket: Int64, operations: [SampleOperation])
    {
        let file = try StoreFile()
        var stored: [SampleOperation] = []
        var rest = operations[...]
        while !rest.isEmpty {
            let part = rest.prefix((operations.count + groups - 1) / groups)
            rest = rest.dropFirst(part.count)
            let own = part.map { StoreFile.Write(bucket: bucket, operation: $0) }
            let other = StoreFile.Write(
                bucket: "other[]", operation: SampleOperation(id: 0, checksum: Checksum(1), data: "{}"))
            stored += try file.store(own + [other], visible: own.count + 1, limit: limit).dropLast()
        }
        let id = try file.reader.one("SELECT id FROM bucket WHERE name = ?", [.text(bucket)]) { $0.int64(0) }
        return (file, id ?? 0, stored)
    }

    private static func wire(_ operation: SampleOperation) -> Operation {
        let hasRow = operation.kind == .put || operation.kind == .remove
        return Operation(
            id: operation.id, kind: operation.kind,
            objectType: hasRow ? (operation.outputType == 1 ? "t" : "u") : nil,
            objectID: hasRow ? operation.objectID : nil,
            subkey: hasRow ? "\(StoreFile.uuid)/\(operation.replicaID.text)" : nil,
            checksum: operation.checksum, data: operation.kind == .put ? operation.data : nil)
    }

    @Test func operationsAreThoseThatWereWritten() async throws {
        try await forEachSeed(30) { random in
            // Of the tables and types that the file has.
            let made = SampleOperation.list(1 + random.below(60), &random).map { operation in
                var operation = operation
                operation.sourceTable = 1
                operation.outputType = 1 + operation.outputType % 2
                operation.target = 0
                return operation
            }
            let (file, bucket, operations) = try Self.file(
                made, groups: 1 + random.below(5), limit: 100 + random.below(1000))
            defer { file.close() }
            for _ in 0..<10 {
                let after = OperationID(random.below(Int(file.last) + 2))
                let last = OperationID(random.below(Int(file.last) + 2))
                let (rows, bytes) = (1 + random.below(20), 1 + random.below(3000))
                let chunk = try StoreReading.chunk(
                    bucket: bucket, after: after, upTo: last, rows: rows, bytes: bytes, file.reader)
                var expected: [SampleOperation] = []
                var size = 0
                var isCut = false
                for operation in operations where operation.id > after && operation.id <= last {
                    size +=
                        operation.kind == .remove ? operation.objectID.utf8.count : operation.data.utf8.count
                    isCut = size > bytes && !expected.isEmpty
                    if isCut { break }
                    expected.append(operation)
                    isCut = expected.count == rows
                    if isCut { break }
                }
                #expect(chunk.operations == expected.map(Self.wire))
                #expect(chunk.isCut == isCut)
            }
        }
    }

    @Test func isCutAtTheNumberOfRows() throws {
        let made = (OperationID(1)...5).map { SampleOperation(id: $0, checksum: Checksum(1), data: "{}") }
        let (file, bucket, operations) = try Self.file(made, groups: 2)
        defer { file.close() }
        func read(_ rows: Int, after: OperationID = 0) throws -> BucketChunk {
            try StoreReading.chunk(
                bucket: bucket, after: after, upTo: .max, rows: rows, bytes: 1 << 20, file.reader)
        }
        #expect(try read(6).operations.map(\.id) == operations.map(\.id))
        #expect(try !read(6).isCut)
        // As many as were asked for: perhaps there are more.
        #expect(try read(5).operations.count == 5)
        #expect(try read(5).isCut)
        #expect(try read(2, after: operations[1].id).operations.map(\.id) == operations[2...3].map(\.id))
        #expect(try read(2, after: file.last).operations.isEmpty)
    }

    @Test func oneLargeOperationIsReadAlone() throws {
        let made = [
            SampleOperation(id: 1, checksum: Checksum(1), data: String(repeating: "x", count: 5000)),
            SampleOperation(id: 2, checksum: Checksum(1), data: "{}"),
        ]
        let (file, bucket, operations) = try Self.file(made, groups: 1)
        defer { file.close() }
        let chunk = try StoreReading.chunk(
            bucket: bucket, after: 0, upTo: .max, rows: 10, bytes: 100, file.reader)
        #expect(chunk.operations.map(\.id) == [operations[0].id])
        #expect(chunk.isCut)
    }

    @Test func aDamagedSegmentIsAnError() throws {
        let made = [SampleOperation(id: 1, checksum: Checksum(1), data: "{}")]
        let (file, bucket, _) = try Self.file(made, groups: 1)
        defer { file.close() }
        func read() throws -> BucketChunk {
            try StoreReading.chunk(bucket: bucket, after: 0, upTo: .max, rows: 10, bytes: 100, file.reader)
        }
        #expect(try read().operations.count == 1)
        // A table that nobody knows.
        try file.connection.execute("UPDATE source_table SET id = 9")
        #expect(throws: StoreError.self) { try read() }
        try file.connection.execute("UPDATE segment SET body = x'0105'")
        #expect(throws: StoreError.self) { try read() }
        try file.connection.execute("UPDATE segment SET body = x''")
        #expect(throws: StoreError.self) { try read() }
        #expect(!file.reader.isInTransaction)
    }

    /// A bucket with a long history costs who is near its end no more than the segments that are left.
    @Test func segmentsAreFoundByTheIndex() throws {
        let (file, _, _) = try Self.file([SampleOperation(id: 1, checksum: Checksum(1))], groups: 1)
        defer { file.close() }
        let sql = "SELECT first_op, body FROM segment WHERE bucket = ? AND last_op > ? ORDER BY last_op"
        let plan = try file.reader.query("EXPLAIN QUERY PLAN \(sql)", [1, 5]) { $0.string(3) }
        #expect(plan.count == 1)
        #expect(plan.first?.contains("segment_of_bucket (bucket=? AND last_op>?)") == true, "\(plan)")
    }
}
