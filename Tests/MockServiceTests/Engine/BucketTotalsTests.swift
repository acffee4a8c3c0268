import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// DESIGN.md, 1: totals without a sum.
@Suite(.namesSeed)
struct BucketTotalsTests {
    private static func totals(_ operations: [SampleOperation], of bucket: Int64) -> BucketTotals {
        BucketTotals(
            id: bucket, checksum: operations.reduce(Checksum.zero) { $0 + $1.checksum },
            count: Int64(operations.count), lastOperation: operations.last?.id ?? 0)
    }

    @Test func whatIsBehindTheCheckpointIsNotCounted() {
        var sums = BucketSums(id: 7)
        #expect(sums.totals(at: 0) == BucketTotals(id: 7, checksum: .zero, count: 0, lastOperation: 0))
        sums.add(Checksum(10), id: 3, checkpoint: 0)
        sums.add(Checksum(20), id: 5, checkpoint: 0)
        #expect(sums.totals(at: 0) == BucketTotals(id: 7, checksum: .zero, count: 0, lastOperation: 0))
        // The checkpoint has come, and nothing was written.
        #expect(sums.covered == BucketSums.Sum())
        #expect(sums.totals(at: 5) == BucketTotals(id: 7, checksum: Checksum(30), count: 2, lastOperation: 5))
        #expect(
            sums.totals(at: 99) == BucketTotals(id: 7, checksum: Checksum(30), count: 2, lastOperation: 5))
    }

    @Test func whoWritesFirstMakesOneSumOfBoth() {
        var sums = BucketSums(id: 7)
        sums.add(Checksum(.max), id: 3, checkpoint: 0)
        sums.add(Checksum(2), id: 6, checkpoint: 5)
        #expect(sums.covered.count == 1 && sums.covered.lastOperation == 3)
        #expect(sums.covered.checksum == Checksum(.max))
        #expect(sums.tail.count == 1 && sums.tail.lastOperation == 6 && sums.tail.checksum == Checksum(2))
        #expect(sums.totals(at: 5).count == 1)
        // Modulo 2³².
        #expect(sums.totals(at: 6) == BucketTotals(id: 7, checksum: Checksum(1), count: 2, lastOperation: 6))
        // As long as the checkpoint stands in the midst of the second sum, it grows.
        sums.add(Checksum(3), id: 8, checkpoint: 5)
        #expect(sums.covered.count == 1 && sums.tail.count == 2)
    }

    /// Groups with and without a commit that becomes visible, which may lie in their midst.
    @Test func totalsAreThoseOfTheOperationsUpToTheCheckpoint() async throws {
        try await forEachSeed(300) { random in
            var sums = BucketSums(id: 1)
            var operations: [SampleOperation] = []
            var last: OperationID = 0
            var checkpoint: OperationID = 0
            for _ in 0..<1 + random.below(12) {
                let count = random.below(5)
                let visible = random.once(in: 2) ? random.below(count + 1) : nil
                for index in 0...count {
                    if index == visible { checkpoint = last }
                    guard index < count else { break }
                    // Ids are of all buckets.
                    last += 1 + OperationID(random.below(3))
                    guard !random.once(in: 3) else { continue }
                    let operation = SampleOperation(behind: last - 1, &random)
                    last = operation.id
                    operations.append(operation)
                    sums.add(operation.checksum, id: operation.id, checkpoint: checkpoint)
                }
                let covered = operations.filter { $0.id <= checkpoint }
                #expect(sums.totals(at: checkpoint) == Self.totals(covered, of: 1))
            }
        }
    }

    @Test func refusesNumbersThatAreNoSum() throws {
        let sum = try BucketSums.Sum(checksum: 4_294_967_295, count: 3, lastOperation: 9)
        #expect(sum.checksum == Checksum(.max) && sum.count == 3 && sum.lastOperation == 9)
        #expect(throws: StoreError.self) {
            try BucketSums.Sum(checksum: 4_294_967_296, count: 0, lastOperation: 0)
        }
        #expect(throws: StoreError.self) { try BucketSums.Sum(checksum: -1, count: 0, lastOperation: 0) }
        #expect(throws: StoreError.self) { try BucketSums.Sum(checksum: 0, count: -1, lastOperation: 0) }
        #expect(throws: StoreError.self) { try BucketSums.Sum(checksum: 0, count: .max, lastOperation: 0) }
        #expect(throws: StoreError.self) { try BucketSums.Sum(checksum: 0, count: 0, lastOperation: .min) }
    }

    @Test func aViewHasTheTotalsOfItsCheckpoint() async throws {
        try await forEachSeed(30) { random in
            let file = try StoreFile()
            defer { file.close() }
            let names = ["s|0[]", "s|0[\"é\"]", "s|0[\"e\u{301}\"]"]
            var operations: [(bucket: String, operation: SampleOperation)] = []
            for _ in 0..<10 {
                let writes = (0..<random.below(8)).map { _ in
                    StoreFile.Write(
                        bucket: random.pick(names), operation: SampleOperation(behind: 0, &random))
                }
                let visible = random.once(in: 3) ? nil : random.below(writes.count + 1)
                let stored = try file.store(writes, visible: visible, limit: 100 + random.below(2000))
                operations += zip(writes, stored).map { (bucket: $0.bucket, operation: $1) }
                let view = try StoreReading.view(
                    of: names.map { "1#\($0)" } + ["2#s|0[]", "s|0[]", "1#none[]"], stream: StoreFile.stream,
                    file.reader)
                let written = Set(operations.map { ExactText("1#\($0.bucket)") })
                #expect(Set(view.buckets.keys) == written)
                for name in names {
                    let covered = operations.filter {
                        ExactText($0.bucket) == ExactText(name)
                            && $0.operation.id <= view.checkpoint.operation
                    }
                    guard let found = view.buckets[ExactText("1#\(name)")] else { continue }
                    let id = try #require(found.id)
                    #expect(found == Self.totals(covered.map(\.operation), of: id), "\(name)")
                }
            }
        }
    }

    /// By which other tests know what a bucket was at a checkpoint that is not the newest any more.
    @Test func totalsAtAnyOperationAreThoseOfTheOperationsUpToIt() async throws {
        try await forEachSeed(30) { random in
            let file = try StoreFile()
            defer { file.close() }
            let names = ["s|0[]", "s|0[\"a\"]"]
            var operations: [(bucket: String, operation: SampleOperation)] = []
            for _ in 0..<8 {
                let writes = (0..<random.below(10)).map { _ in
                    StoreFile.Write(
                        bucket: random.pick(names), operation: SampleOperation(behind: 0, &random))
                }
                let visible = random.once(in: 3) ? nil : random.below(writes.count + 1)
                let stored = try file.store(writes, visible: visible, limit: 100 + random.below(2000))
                operations += zip(writes, stored).map { (bucket: $0.bucket, operation: $1) }
            }
            for last in 0...file.last + 1 {
                let found = try StoreReading.totals(
                    of: names.map { "1#\($0)" } + ["2#s|0[]"], stream: StoreFile.stream, at: last,
                    file.reader)
                for name in names {
                    let own = operations.filter { $0.bucket == name }.map(\.operation)
                    let totals = found[ExactText("1#\(name)")]
                    #expect((totals == nil) == own.isEmpty)
                    guard let totals else { continue }
                    let id = try #require(totals.id)
                    #expect(totals == Self.totals(own.filter { $0.id <= last }, of: id), "\(name) at \(last)")
                }
                #expect(!file.reader.isInTransaction)
            }
        }
    }

    /// B28, as streams ask: nothing but the buckets is read while a snapshot writes behind the checkpoint.
    @Test func aViewOfAStoreCostsTheSameDuringASnapshot() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path, readers: 1)
            let names = (0..<20).map { fixture.bucket("u\($0)") }
            func rows(_ range: Range<Int>) -> [RowChange] {
                range.map { .snapshot(StoreFixture.row("r\($0)", "u\($0 % 20)")) }
            }
            // How many times ten thousand steps SQLite takes for a hundred readings, and what they find.
            func cost() async throws -> (questions: Int, counts: Set<Int64>) {
                try await fixture.store.pool.read { connection in
                    var questions = 0
                    var counts: Set<Int64> = []
                    let asks = {
                        questions += 1
                        return false
                    }
                    try connection.interrupting(when: asks) {
                        for _ in 0..<100 {
                            let found = try StoreReading.view(of: names, stream: 1, connection)
                            counts.formUnion(found.buckets.values.map(\.count))
                        }
                    }
                    return (questions: questions, counts: counts)
                }
            }
            #expect(try await fixture.apply(rows(0..<100), commit: 1).checkpoint?.operation == 100)
            // The first reading prepares what the others use.
            _ = try await cost()
            let atRest = try await cost()
            #expect(atRest.questions > 0 && atRest.counts == [5])
            let events = rows(100..<10_000).map { ReplicationEvent.change(fixture.table, $0) }
            _ = try await fixture.store.apply(events, fixture.context, isAhead: true)
            let meanwhile = try await cost()
            #expect(meanwhile.counts == [5])
            #expect(abs(meanwhile.questions - atRest.questions) <= 1, "\(atRest), then \(meanwhile)")
            try await fixture.close()
        }
    }

    @Test func aViewOfAStreamThatIsGoneIsRefused() throws {
        let file = try StoreFile()
        defer { file.close() }
        #expect(throws: StoreError.self) { try StoreReading.view(of: ["2#s|0[]"], stream: 2, file.reader) }
        // Nothing is left open.
        #expect(!file.reader.isInTransaction)
    }

    /// B28: what a snapshot writes behind the checkpoint is not summed up by who reads.
    @Test func aViewCostsTheSameDuringASnapshot() throws {
        let file = try StoreFile()
        defer { file.close() }
        let names = (0..<20).map { "s|0[\($0)]" }
        func writes(_ count: Int) -> [StoreFile.Write] {
            (0..<count).map { index in
                StoreFile.Write(
                    bucket: names[index % names.count],
                    operation: SampleOperation(id: 0, checksum: Checksum(1), objectID: "a", data: "{}"))
            }
        }
        // How many times ten thousand steps SQLite takes for a hundred views; those of a statement count on.
        func cost(of view: StoredView) throws -> Int {
            var questions = 0
            let counts = {
                questions += 1
                return false
            }
            try file.reader.interrupting(when: counts) {
                for _ in 0..<100 {
                    let found = try StoreReading.view(
                        of: names.map { "1#\($0)" }, stream: StoreFile.stream, file.reader)
                    #expect(found == view)
                }
            }
            return questions
        }
        try file.store(writes(100), visible: 100)
        let before = try StoreReading.view(
            of: names.map { "1#\($0)" }, stream: StoreFile.stream, file.reader)
        #expect(before.buckets.values.allSatisfy { $0.count == 5 } && before.buckets.count == 20)
        let atRest = try cost(of: before)
        // Else nothing was counted.
        #expect(atRest > 0)
        let compiled = file.reader.compiledBytes
        for _ in 0..<10 { try file.store(writes(2000)) }
        let meanwhile = try cost(of: before)
        #expect(abs(meanwhile - atRest) <= 1, "\(atRest) at rest, \(meanwhile) during a snapshot")
        // It prepares nothing anew.
        #expect(file.reader.compiledBytes == compiled)
        // Publishing all of it changes no bucket.
        let changes = file.connection.totalChanges
        try file.store([], visible: 0)
        #expect(file.connection.totalChanges - changes == 1)
        let after = try StoreReading.view(of: names.map { "1#\($0)" }, stream: StoreFile.stream, file.reader)
        #expect(after.buckets.values.allSatisfy { $0.count == 1005 && $0.checksum == Checksum(1005) })
    }
}
