import PowerSyncPostgres
import PowerSyncTestSupport
import Testing

struct PgOutputRowChangeTests {
    /// What stands around a message must not matter.
    private static func buffer(_ message: [UInt8]) -> (bytes: [UInt8], range: Range<Int>) {
        ([0x49, 0, 7] + message + [0x6E, 0], 3..<3 + message.count)
    }

    @Test(arguments: PgOutputDecoderTests.messages.indices)
    func saysOfRowsWhatTheirMessagesSay(index: Int) throws {
        let (message, expected) = PgOutputDecoderTests.messages[index]
        let (bytes, range) = Self.buffer(message)
        #expect(try PgOutputMessage.decode(bytes, in: range) == expected)
        // Those of a row before it stay.
        var cells = [PostgresCell.unchanged]
        let change = try PgOutputRowChange.read(bytes, in: range, cells: &cells)
        #expect(cells.first == .unchanged)
        switch expected {
        case .insert, .update, .delete:
            let read = try #require(change)
            #expect(read.message(cells, bytes) == expected)
            #expect(cells.count == 1 + (read.old?.count ?? 0) + (read.new?.count ?? 0))
        default:
            #expect(change == nil)
            #expect(cells.count == 1)
        }
    }

    @Test(arguments: PgOutputDecoderTests.messages.indices)
    func refusesWhatIsCutOrTooLongAndLeavesTheCellsAsTheyWere(index: Int) throws {
        let message = PgOutputDecoderTests.messages[index].bytes
        guard ["I", "U", "D"].map({ UInt8(ascii: $0) }).contains(message[0]) else { return }
        let (bytes, range) = Self.buffer(message)
        for end in range.lowerBound...range.upperBound + 1 where end != range.upperBound {
            var cells = [PostgresCell.null]
            let error = #expect(throws: PostgresError.self) {
                try PgOutputRowChange.read(bytes, in: range.lowerBound..<end, cells: &cells)
            }
            #expect(error?.code == .malformedMessage)
            #expect(cells == [.null])
        }
    }

    @Test func anErrorNamesThePlaceInTheMessage() {
        let (bytes, range) = Self.buffer(MessageBytes("I").int32(7).mark("N").int16(1).mark("x").bytes)
        var cells: [PostgresCell] = []
        let error = #expect(throws: PostgresError.self) {
            try PgOutputRowChange.read(bytes, in: range, cells: &cells)
        }
        #expect(error?.message == "malformed replication message: value kind at byte 9")
    }

    @Test(.namesSeed) func acceptsAndRefusesAnyBytesAsTheDecoderDoes() async throws {
        let messages = PgOutputDecoderTests.messages.map(\.bytes)
            .filter { ["I", "U", "D"].map { UInt8(ascii: $0) }.contains($0[0]) }
        try await forEachSeed(200) { random in
            for _ in 0..<100 {
                var message = random.pick(messages)
                // Its kind stays.
                for _ in 0...random.below(4) {
                    message[1 + random.below(message.count - 1)] = UInt8(random.below(256))
                }
                let (bytes, range) = Self.buffer(message)
                let expected: PgOutputMessage? = Self.accepted { () throws(PostgresError) in
                    try PgOutputMessage.decode(message)
                }
                var cells: [PostgresCell] = []
                let change: PgOutputRowChange? = Self.accepted { () throws(PostgresError) in
                    try PgOutputRowChange.read(bytes, in: range, cells: &cells)
                }
                try #require(change?.message(cells, bytes) == expected)
            }
        }
    }

    /// What a reader makes of bytes; nil if it refuses them.
    private static func accepted<T>(_ read: () throws(PostgresError) -> T?) -> T? {
        do throws(PostgresError) {
            return try read()
        } catch {
            #expect(error.code == .malformedMessage)
            return nil
        }
    }
}

extension PgOutputRowChange {
    /// The message that says the same; nil if there is none.
    func message(_ cells: [PostgresCell], _ bytes: [UInt8]) -> PgOutputMessage? {
        let old = self.old.map { range -> PgOutputOldTuple in
            let tuple = Self.tuple(cells[range], bytes)
            return isOldWhole ? .full(tuple) : .key(tuple)
        }
        let new = self.new.map { Self.tuple(cells[$0], bytes) }
        switch kind {
        case .insert:
            guard let new, old == nil else { return nil }
            return .insert(relation: relation, new: new)
        case .update:
            guard let new else { return nil }
            return .update(relation: relation, old: old, new: new)
        case .delete:
            guard let old, new == nil else { return nil }
            return .delete(relation: relation, old: old)
        }
    }

    private static func tuple(_ cells: ArraySlice<PostgresCell>, _ bytes: [UInt8]) -> PgOutputTuple {
        cells.map { cell -> PgOutputValue in
            if let range = cell.range { return .text(String(decoding: bytes[range], as: UTF8.self)) }
            return cell == .null ? .null : .unchangedToast
        }
    }
}
