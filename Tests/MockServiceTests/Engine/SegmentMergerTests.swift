import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncServiceEngine

/// DESIGN.md, 1: tails and merging.
@Suite(.namesSeed)
struct SegmentMergerTests {
    private static func limits(
        small: Int, segment: Int, atOnce: Int, from count: Int64
    ) -> StoreLimits {
        var limits = StoreLimits()
        limits.smallSegmentBytes = small
        limits.segmentBytes = segment
        limits.mergeBytes = atOnce
        limits.smallSegments = count
        return limits
    }

    /// A row of `segment`.
    private struct Row: Hashable {
        let id: Int64
        let bucket: Int64
        let bytes: Int
    }

    private static func rows(_ file: StoreFile) throws -> [Row] {
        try file.connection.query("SELECT id, bucket, length(body) FROM segment ORDER BY bucket, last_op") {
            Row(id: $0.int64(0), bucket: $0.int64(1), bytes: Int($0.int64(2)))
        }
    }

    /// Counts the small segments of each bucket, which the file does not do when it stores them.
    private static func countSmall(_ file: StoreFile, _ limits: StoreLimits) throws {
        try file.connection.run(
            "UPDATE bucket SET small = "
                + "(SELECT count(*) FROM segment WHERE segment.bucket = bucket.id AND length(body) < ?)",
            [.integer(Int64(limits.smallSegmentBytes))])
    }

    /// The small segments that the file counts, which must be those that are there.
    private static func expectSmallAreCounted(_ file: StoreFile, _ limits: StoreLimits) throws {
        let small = try rows(file).filter { $0.bytes < limits.smallSegmentBytes }
        let counted = try file.connection.query("SELECT id, small FROM bucket") {
            (id: $0.int64(0), small: Int($0.int64(1)))
        }
        for bucket in counted { #expect(bucket.small == small.count { $0.bucket == bucket.id }) }
    }

    /// Stores a group of one operation, whose data is so long.
    private static func store(_ file: StoreFile, _ bucket: String, bytes: Int) throws {
        let data = String(repeating: "x", count: bytes)
        try file.store(
            [
                StoreFile.Write(
                    bucket: bucket, operation: SampleOperation(id: 0, checksum: Checksum(1), data: data))
            ], visible: 1)
    }

    private static func operations(
        of bucket: Int64, after: OperationID = 0, upTo last: OperationID = .max,
        _ connection: SQLiteConnection
    ) throws -> [SampleOperation] {
        var found: [SampleOperation] = []
        try StoreReading.forEachOperation(of: bucket, after: after, upTo: last, connection) { entry, body in
            found.append(SampleOperation(entry, of: body))
            return true
        }
        return found
    }

    // MARK: What streams see

    /// Random groups with any operations, merged at any moment: the same operations in the same order, for those who
    /// begin to read and for those who are at it, with the same totals at every checkpoint that there has been.
    @Test func nothingThatStreamsSeeChanges() async throws {
        var fewer = 0
        try await forEachSeed(25) { random in
            let small = 150 + random.below(1500)
            let limits = Self.limits(
                small: small, segment: (2 + random.below(4)) * small, atOnce: small * (1 + random.below(8)),
                from: Int64(2 + random.below(4)))
            let merger = SegmentMerger(limits: limits)
            let file = try StoreFile()
            defer { file.close() }
            let names = ["s|0[]", "s|0[\"a\"]", "t|0[]"]
            var operations: [ExactText: [SampleOperation]] = [:]
            var checkpoints: Set<OperationID> = []
            for _ in 0..<14 {
                let writes = (0..<random.below(8)).map { _ in
                    StoreFile.Write(
                        bucket: random.pick(names), operation: SampleOperation(behind: 0, &random))
                }
                let visible = random.once(in: 3) ? nil : random.below(writes.count + 1)
                let stored = try file.store(writes, visible: visible, limit: limits.segmentBytes)
                for (write, operation) in zip(writes, stored) {
                    operations[ExactText(write.bucket), default: []].append(operation)
                }
                let checkpoint = try file.reader.one(Self.checkpoint) { $0.int64(0) }
                checkpoints.insert(try #require(checkpoint))
                guard random.once(in: 2) else { continue }
                try Self.countSmall(file, limits)
                let buckets = try Self.buckets(file)
                func seen() throws -> [[SampleOperation]] {
                    try buckets.map { try Self.operations(of: $0.id, file.reader) }
                }
                let all = buckets.map { operations[ExactText($0.name)] ?? [] }
                try file.reader.execute("BEGIN")
                #expect(try seen() == all)
                while let count = try merger.merge(file.connection) { fewer += count }
                // As it was when this reader began, and as it is.
                #expect(try seen() == all)
                try file.reader.execute("COMMIT")
                #expect(try seen() == all)
                for last in checkpoints.union([file.last]) {
                    try Self.expectTotals(of: operations, names, at: last, file)
                }
                try Self.expectSmallAreCounted(file, limits)
                try Self.expectRowsAreRight(file, limits)
                for bucket in buckets {
                    let (after, last) = (OperationID(random.below(90)), OperationID(random.below(90)))
                    let found = try Self.operations(of: bucket.id, after: after, upTo: last, file.reader)
                    let own = operations[ExactText(bucket.name)] ?? []
                    #expect(found == own.filter { $0.id > after && $0.id <= last })
                }
            }
        }
        #expect(fewer > 0)
    }

    private static func buckets(_ file: StoreFile) throws -> [(id: Int64, name: String)] {
        try file.connection.query("SELECT id, name FROM bucket ORDER BY id") {
            (id: $0.int64(0), name: $0.string(1))
        }
    }

    private static let checkpoint = "SELECT checkpoint_op FROM replication_stream WHERE id = 1"

    private static func expectTotals(
        of operations: [ExactText: [SampleOperation]], _ names: [String], at last: OperationID,
        _ file: StoreFile
    ) throws {
        let found = try StoreReading.totals(
            of: names.map { "1#\($0)" }, stream: StoreFile.stream, at: last, file.reader)
        for name in names {
            let own = (operations[ExactText(name)] ?? []).filter { $0.id <= last }
            guard let totals = found[ExactText("1#\(name)")] else {
                #expect(operations[ExactText(name)] == nil)
                continue
            }
            #expect(totals.count == Int64(own.count) && totals.lastOperation == own.last?.id ?? 0)
            #expect(totals.checksum == own.reduce(Checksum.zero) { $0 + $1.checksum })
        }
    }

    /// Each row says of its body what that says, and none is longer than it may be.
    private static func expectRowsAreRight(_ file: StoreFile, _ limits: StoreLimits) throws {
        try file.connection.forEach(
            "SELECT first_op, last_op, count, checksum, max_target, body FROM segment"
        ) { row in
            let numbers = (0..<5).map { row.int64($0) }
            try row.withBlob(5) { bytes in
                let summary = try SegmentBody.summary(of: bytes)
                #expect(
                    numbers == [
                        summary.firstOperation, summary.lastOperation, summary.count,
                        Int64(summary.checksum.value), summary.maxTarget,
                    ])
                #expect(bytes.count <= limits.segmentBytes || summary.count == 1)
            }
        }
    }

    // MARK: What is merged

    @Test func fewerThanSixteenSmallSegmentsStayAsTheyAre() throws {
        let limits = StoreLimits()
        let merger = SegmentMerger(limits: limits)
        let file = try StoreFile()
        defer { file.close() }
        for _ in 0..<15 { try Self.store(file, "s|0[]", bytes: 100) }
        try Self.countSmall(file, limits)
        #expect(try merger.merge(file.connection) == nil)
        try Self.store(file, "s|0[]", bytes: 100)
        try Self.countSmall(file, limits)
        #expect(try merger.merge(file.connection) == 15)
        #expect(try merger.merge(file.connection) == nil)
        #expect(try Self.rows(file).count == 1)
    }

    /// What was written while there was no time for it: no transaction is long for that.
    @Test func aTransactionWritesNoMoreThanItsBytes() throws {
        let limits = Self.limits(small: 12_000, segment: 50_000, atOnce: 100_000, from: 16)
        let merger = SegmentMerger(limits: limits)
        let file = try StoreFile()
        defer { file.close() }
        for number in 0..<200 { try Self.store(file, "s|0[\(number % 2)]", bytes: 5000) }
        try Self.countSmall(file, limits)
        var before = Set(try Self.rows(file))
        var steps = 0
        while let fewer = try merger.merge(file.connection) {
            let after = Set(try Self.rows(file))
            let written = after.subtracting(before)
            #expect(written.reduce(0) { $0 + $1.bytes } <= limits.mergeBytes)
            #expect(fewer == before.count - after.count && fewer > 0)
            before = after
            steps += 1
        }
        #expect(steps >= 8)
        let lengths = before.map(\.bytes)
        #expect(lengths.count { $0 < limits.smallSegmentBytes } < 2 * 16)
        #expect(lengths.allSatisfy { $0 <= limits.segmentBytes })
        try Self.expectSmallAreCounted(file, limits)
    }

    @Test func theBucketWithTheMostComesFirst() throws {
        let limits = Self.limits(small: 1000, segment: 10_000, atOnce: 10_000, from: 3)
        let merger = SegmentMerger(limits: limits)
        let file = try StoreFile()
        defer { file.close() }
        for count in 3...5 {
            for _ in 0..<count { try Self.store(file, "s|0[\(count)]", bytes: 10) }
        }
        try Self.countSmall(file, limits)
        #expect(try merger.merge(file.connection) == 4)
        #expect(try merger.merge(file.connection) == 3)
        #expect(try merger.merge(file.connection) == 2)
        #expect(try merger.merge(file.connection) == nil)
    }

    /// Small ones that stand between large ones have nothing to be merged with: they are not looked for again and again.
    @Test func aBucketInWhichNothingCanBeMergedIsLeftAloneUntilThereIsMore() throws {
        let limits = Self.limits(small: 1000, segment: 4000, atOnce: 8000, from: 3)
        let merger = SegmentMerger(limits: limits)
        let file = try StoreFile()
        defer { file.close() }
        func add(_ lengths: Int...) throws {
            for length in lengths { try Self.store(file, "s|0[]", bytes: length) }
            try Self.countSmall(file, limits)
        }
        try add(10, 2000, 10, 2000, 10, 2000)
        #expect(try merger.merge(file.connection) == 0)
        #expect(try merger.merge(file.connection) == nil)
        try add(10, 2000, 10, 2000)
        #expect(try merger.merge(file.connection) == nil)
        try add(10, 2000)
        #expect(try merger.merge(file.connection) == 0)
        #expect(try merger.merge(file.connection) == nil)
        try add(10, 10, 10)
        #expect(try merger.merge(file.connection) == 2)
        // Seven small ones are left, which is more than made it be looked at, and nothing of them can be merged.
        #expect(try merger.merge(file.connection) == 0)
        #expect(try merger.merge(file.connection) == nil)
        try Self.expectSmallAreCounted(file, limits)
    }

    /// Which one was left alone is known by its id, which another one must not have.
    @Test func aBucketThatIsMadeLaterIsNotLeftAloneForOneThatIsGone() throws {
        let limits = Self.limits(small: 1000, segment: 4000, atOnce: 8000, from: 3)
        let merger = SegmentMerger(limits: limits)
        let file = try StoreFile()
        defer { file.close() }
        for length in [10, 2000, 10, 2000, 10, 2000] { try Self.store(file, "gone[]", bytes: length) }
        try Self.countSmall(file, limits)
        #expect(try merger.merge(file.connection) == 0)
        try file.connection.execute("DELETE FROM segment; DELETE FROM bucket")
        for _ in 0..<3 { try Self.store(file, "s|0[]", bytes: 10) }
        try Self.countSmall(file, limits)
        #expect(try merger.merge(file.connection) == 2)
    }

    /// It is being removed.
    @Test func whatAStoppedStreamHoldsIsNotMerged() throws {
        let limits = StoreLimits()
        let file = try StoreFile()
        defer { file.close() }
        for _ in 0..<20 { try Self.store(file, "s|0[]", bytes: 10) }
        try Self.countSmall(file, limits)
        try file.connection.execute("UPDATE replication_stream SET state = 'stopped'")
        #expect(try SegmentMerger(limits: limits).merge(file.connection) == nil)
        try file.connection.execute("UPDATE replication_stream SET state = 'building'")
        #expect(try SegmentMerger(limits: limits).merge(file.connection) == 19)
    }

    // MARK: Damage

    @Test(arguments: [
        "checksum = checksum + 1", "count = count + 1", "first_op = 0", "max_target = 1", "body = x'0105'",
        "body = x''",
    ])
    func whatIsDamagedIsNotCopiedAndHoldsUpNothingElse(_ damage: String) throws {
        let limits = Self.limits(small: 1000, segment: 10_000, atOnce: 10_000, from: 3)
        let merger = SegmentMerger(limits: limits)
        let file = try StoreFile()
        defer { file.close() }
        for _ in 0..<5 { try Self.store(file, "damaged[]", bytes: 10) }
        for _ in 0..<3 { try Self.store(file, "s|0[]", bytes: 10) }
        try Self.countSmall(file, limits)
        try file.connection.execute(
            "UPDATE segment SET \(damage) WHERE id = (SELECT min(id) FROM segment)")
        let before = try Self.rows(file)
        #expect(throws: StoreError.self) { try merger.merge(file.connection) }
        #expect(!file.connection.isInTransaction)
        #expect(try Self.rows(file) == before)
        #expect(try merger.merge(file.connection) == 2)
        #expect(try merger.merge(file.connection) == nil)
        #expect(try Self.rows(file).count == before.count - 2)
    }

    // MARK: Cost

    @Test func bucketsAndSegmentsAreFoundByIndices() throws {
        let file = try StoreFile()
        defer { file.close() }
        func plan(_ sql: String, _ values: [SQLiteValue] = []) throws -> [String] {
            try file.connection.query("EXPLAIN QUERY PLAN \(sql)", values) { $0.string(3) }
        }
        let buckets = try plan(SegmentMerger.buckets(with: StoreLimits().smallSegments))
        #expect(buckets.contains { $0.contains("bucket_to_merge") }, "\(buckets)")
        #expect(buckets.allSatisfy { !$0.contains("TEMP B-TREE FOR ORDER BY") }, "\(buckets)")
        let segments = try plan(SegmentMerger.segments, [1])
        #expect(segments.count == 1)
        #expect(segments.first?.contains("segment_of_bucket (bucket=?)") == true, "\(segments)")
    }
}
