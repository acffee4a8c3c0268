import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncTestSupport
import Testing

struct PostgresFramesTests {
    @Test func messagesLieBehindEachOtherInTheOrderInWhichTheyCame() {
        var frames = PostgresFrames()
        #expect(frames.isEmpty)
        for message in ["first", "", "third"] { message.withFrame { frames.append($0) } }
        #expect(frames.count == 3)
        #expect((0..<3).map { frames[$0] } == [0..<5, 5..<5, 5..<10])
        #expect(frames.bytes == Array("firstthird".utf8))
        #expect(frames.ends == [5, 5, 10])
    }

    @Test func whatIsTakenOutIsGone() {
        var frames = PostgresFrames()
        "first".withFrame { frames.append($0) }
        let (bytes, ends) = frames.take()
        #expect(bytes == Array("first".utf8))
        #expect(ends == [5])
        #expect(frames == PostgresFrames())
        "second".withFrame { frames.append($0) }
        #expect(frames[0] == 0..<6)
        frames.removeAll()
        #expect(frames.isEmpty && frames.bytes.isEmpty)
    }

    @Test func aPieceOfTheStreamIsReadWhereItLies() throws {
        let frame = MessageBytes("w").int64(0x100).int64(0x200).int64(5).raw("payload").bytes
        let bytes = Array("before".utf8) + frame + Array("behind".utf8)
        #expect(
            try ReplicationFrame.read(bytes, in: 6..<6 + frame.count)
                == .xlog(start: LSN(rawValue: 0x100), end: LSN(rawValue: 0x200), payload: 31..<38))
        #expect(bytes[31..<38].elementsEqual("payload".utf8))
    }

    @Test func aKeepaliveEndsWithItsFrame() throws {
        let frame = MessageBytes("k").int64(0x300).int64(5).byte(1).bytes
        let bytes = frame + frame
        #expect(
            try ReplicationFrame.read(bytes, in: 18..<36)
                == .keepalive(end: LSN(rawValue: 0x300), replyRequested: true))
        for range in [0..<17, 0..<19, 18..<18] {
            let error = #expect(throws: PostgresError.self) { try ReplicationFrame.read(bytes, in: range) }
            #expect(error?.code == .malformedMessage)
        }
    }

    @Test(.namesSeed) func rowsOfACopyAreUnescapedInPlaceToTheSameFields() async throws {
        let pieces = ["a", "é", "\t", "\\N", "\\\\", "\\t", "\\n", "\\", "x\\by", ""].map { Array($0.utf8) }
        try await forEachSeed(200) { random in
            var bytes: [UInt8] = []
            var rows: [(range: Range<Int>, fields: [String?])] = []
            for _ in 0..<20 {
                var row: [UInt8] = []
                for _ in 0..<random.below(8) { row += random.pick(pieces) }
                if random.once(in: 2) { row.append(UInt8(ascii: "\n")) }
                rows.append((bytes.count..<bytes.count + row.count, PostgresCopyRow.fields(of: row)))
                bytes += row
            }
            let before = bytes
            // In any order: a row leaves those beside it alone.
            for (range, fields) in rows.shuffled(using: &random) {
                try #require(bytes[range] == before[range])
                var cells: [PostgresCell] = []
                PostgresCopyRow.unescape(range, in: &bytes, cells: &cells)
                let read = cells.map { cell in
                    cell.range.map { String(decoding: bytes[$0], as: UTF8.self) }
                }
                try #require(read == fields)
                try #require(
                    cells.allSatisfy { cell in
                        guard let place = cell.range else { return cell == .null }
                        return range.lowerBound <= place.lowerBound && place.upperBound <= range.upperBound
                    })
            }
        }
    }

    @Test func cellsAreNullUnchangedOrText() {
        #expect(PostgresCell.null.range == nil)
        #expect(PostgresCell.unchanged.range == nil)
        #expect(PostgresCell.null != .unchanged)
        #expect(PostgresCell(3..<3).range == 3..<3)
        #expect(PostgresCell(3..<10).range == 3..<10)
    }
}

extension String {
    /// Lends the bytes of the text as a message.
    fileprivate func withFrame(_ body: (UnsafeRawBufferPointer) -> Void) {
        Array(utf8).withUnsafeBytes(body)
    }
}
