import PowerSyncMockService
import PowerSyncServiceEngine
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Operations that many streams send.
@Suite(.namesSeed, .patient())
struct FrameTests {
    /// A frame of so many operations of about half a kilobyte each in a line.
    private static func frame(_ count: Int, after: OperationID = 0) -> FrameFixture {
        FrameFixture(
            (0..<count).map { number in
                SampleOperation(
                    id: after + OperationID(number) + 1, checksum: Checksum(1), objectID: "\(number)",
                    data: String(repeating: "x", count: 300))
            }, after: after)
    }

    private static func line(_ frame: Frame, _ format: LineForm.Format = .raw) throws -> EncodedLine {
        try LineEncoder(format, BlockCompressors()).encode(frame, of: "b", after: 0, hasMore: false)
    }

    @Test(arguments: LineForm.Format.allCases, [false, true])
    func aFormIsMadeOnceForAllWhoWantIt(format: LineForm.Format, isGzipped: Bool) async throws {
        let frame = Self.frame(1000).frame
        let compressors = BlockCompressors()
        let form = LineForm(format, isGzipped: isGzipped)
        let contents = try await withThrowingTaskGroup(of: FrameContent.self) { group in
            for _ in 0..<8 { group.addTask { try frame.content(form, compressors) } }
            return try await group.reduce(into: [FrameContent]()) { $0.append($1) }
        }
        let first = contents[0].pieces
        #expect(first.count > 1)
        for content in contents {
            #expect(content.pieces.count == first.count)
            #expect(zip(content.pieces, first).allSatisfy { $0 === $1 })
            #expect((content.sum != nil) == isGzipped)
        }
    }

    /// Else a slow client would hold a long line as a whole, until its end.
    @Test(arguments: LineForm.Format.allCases)
    func piecesAreShort(format: LineForm.Format) throws {
        let pieces = try Self.frame(2000).frame.content(LineForm(format), BlockCompressors()).pieces
        #expect(pieces.count > 8)
        #expect(pieces.allSatisfy { $0.bytes.count <= LinePiece.most })
        #expect(pieces.dropLast().allSatisfy { $0.bytes.count > LinePiece.most * 3 / 4 })
        let text = String(repeating: "\"", count: 1 << 20)
        let one = FrameFixture([SampleOperation(id: 1, checksum: Checksum(1), data: text)]).frame
        let parts = try one.content(LineForm(format), BlockCompressors()).pieces
        #expect(parts.count >= 16)
        #expect(parts.allSatisfy { $0.bytes.count <= 2 * LinePiece.most })
    }

    @Test func itSaysWhatIsInIt() throws {
        let operations = [
            SampleOperation(id: 7, checksum: Checksum(1), data: "{}"),
            SampleOperation(id: 9, kind: .move, checksum: Checksum(1), target: 20),
            SampleOperation(id: 12, kind: .clear, checksum: Checksum(1), target: 15),
        ]
        let frame = FrameFixture(operations, bucket: 3, after: 5).frame
        #expect(frame.bucket == 3 && frame.after == 5 && frame.last == 12)
        #expect(frame.count == 3 && frame.maxTarget == 20)
        func request(last: OperationID, rows: Int) -> FrameRequest {
            FrameRequest(bucket: 3, after: 5, last: last, rows: rows, bytes: 1 << 20)
        }
        #expect(!frame.hasMore(request(last: 12, rows: 4)))
        #expect(frame.hasMore(request(last: 13, rows: 4)))
        // As many as were asked for: perhaps there are more.
        #expect(frame.hasMore(request(last: 12, rows: 3)))
    }

    /// A client that completed it would miss what has superseded the rest.
    @Test func aTargetHoldsBackTheCheckpointsBeforeIt() throws {
        let operations = [
            SampleOperation(id: 7, checksum: Checksum(1), data: "{}"),
            SampleOperation(id: 9, kind: .move, checksum: Checksum(1), target: 20),
        ]
        let frame = FrameFixture(operations).frame
        #expect(frame.holdsBack(12) && frame.holdsBack(19))
        #expect(!frame.holdsBack(20) && !frame.holdsBack(21))
        // The target of an operation that is not in it does not count, nor does one without a target.
        #expect(try !frame.prefix(1).holdsBack(7))
        let clear = SampleOperation(id: 9, kind: .clear, checksum: Checksum(1))
        #expect(!FrameFixture([clear]).frame.holdsBack(9))
    }

    @Test func aPrefixHasTheFirstOperations() async throws {
        try await forEachSeed(30) { random in
            let fixture = FrameFixture(upTo: 30, bucket: 2, after: 4, &random)
            let count = fixture.operations.count
            #expect(try fixture.frame.prefix(count) === fixture.frame)
            #expect(try fixture.frame.prefix(count + 1) === fixture.frame)
            let rows = 1 + random.below(count)
            let prefix = try fixture.frame.prefix(rows)
            let expected = FrameFixture(Array(fixture.operations.prefix(rows)), bucket: 2, after: 4)
            #expect(prefix.bucket == 2 && prefix.after == 4 && prefix.last == expected.frame.last)
            #expect(prefix.count == rows && prefix.maxTarget == expected.frame.maxTarget)
            #expect(try Self.line(prefix).taken() == Self.line(expected.frame).taken())
        }
    }

    // MARK: What is held

    @Test func whatIsHeldAreTheOperationsAndEachFormOnce() throws {
        var frame: Frame? = Self.frame(500).frame
        let budget = LineBudget(limit: 1 << 30)
        frame?.charge(to: budget.take(0))
        let records = budget.usedBytes
        #expect(records > 500 * 300 && records < 500 * 400)
        var lines: [EncodedLine] = []
        for format in [LineForm.Format.raw, .raw, .bson, .raw] {
            lines.append(try Self.line(try #require(frame), format))
        }
        let sizes = try [LineForm.Format.raw, .bson].map {
            try #require(frame).content(LineForm($0), BlockCompressors()).plainCount
        }
        #expect(budget.usedBytes == records + sizes[0] + sizes[1])
        #expect(frame?.heldBytes == budget.usedBytes)
        frame = nil
        #expect(budget.usedBytes == records + sizes[0] + sizes[1], "lines can still be made of it")
        lines = []
        #expect(budget.usedBytes == 0)
    }

    /// As it was before lines had pieces.
    @Test func aLineOfItsOwnIsGivenBackPieceByPiece() {
        let budget = LineBudget(limit: 1 << 30)
        let text = String(repeating: "x", count: LinePiece.most * 4)
        let fixture = FrameFixture([SampleOperation(id: 1, checksum: Checksum(1), data: text)])
        let line = LineEncoder(.raw, BlockCompressors()).encode(
            fixture.line(of: "b", after: 0, hasMore: false))
        line.charge(to: budget.take(line.count))
        #expect(budget.usedBytes == line.count)
        for taken in 1...4 {
            let pieces = line.next(LinePiece.most)
            #expect(pieces.count == 1)
            withExtendedLifetime(pieces) {
                #expect(budget.usedBytes == line.count - (taken - 1) * LinePiece.most, "it is being sent")
            }
        }
        #expect(line.next(.max).count == 1)
        #expect(line.next(.max).isEmpty && budget.usedBytes == 0)
    }

    @Test func aFrameThatOneStreamSendsIsHeldUntilItsHalf() async throws {
        let budget = LineBudget(limit: 1 << 30)
        let line = try {
            let frame = Self.frame(1000).frame
            frame.charge(to: budget.take(0))
            return try Self.line(frame)
        }()
        let whole = budget.usedBytes
        #expect(whole > line.count, "its records are held, too")
        let sink = HaltingSink(taking: 2)
        let sending = Task { try await sink.send([line]) }
        try await wait(for: "the first pieces") { sink.isFull }
        #expect(budget.usedBytes == whole, "others may still want it")
        sink.goOn()
        try await sending.value
        #expect(budget.usedBytes == 0)
        #expect(sink.taken.count == line.count)
    }

    @Test func beyondItsHalfOnlyWhatIsLeftOfALineIsHeld() async throws {
        let budget = LineBudget(limit: 1 << 30)
        let line = try {
            let frame = Self.frame(1000).frame
            frame.charge(to: budget.take(0))
            return try Self.line(frame)
        }()
        let sink = HaltingSink(taking: 6)
        let sending = Task { try await sink.send([line]) }
        try await wait(for: "the first pieces") { sink.isFull }
        let left = line.count - sink.taken.count
        // Its suffix is not the frame's.
        #expect(left < line.count / 2 && budget.usedBytes <= left && budget.usedBytes > left / 2)
        sink.cut()
        await #expect(throws: LinesWereCut.self) { try await sending.value }
    }

    @Test func aSharedFrameIsHeldUntilTheLastStreamIsDone() async throws {
        let budget = LineBudget(limit: 1 << 30)
        let lines = try {
            let frame = Self.frame(1000).frame
            frame.charge(to: budget.take(0))
            return try [Self.line(frame), Self.line(frame)]
        }()
        let (quick, slow) = (HaltingSink(), HaltingSink(taking: 0))
        let sending = Task { try await slow.send([lines[1]]) }
        try await wait(for: "the slow one") { slow.isFull }
        let whole = budget.usedBytes
        try await quick.send([lines[0]])
        #expect(budget.usedBytes == whole)
        slow.goOn()
        try await sending.value
        #expect(budget.usedBytes == 0 && slow.taken == quick.taken)
    }
}
