import Testing

@testable import PowerSync
@testable import PowerSyncWire

/// The order in which operations are stored, and what is left out (client-core 5.5, 6.6).
@Suite struct OperationSegmentTests {
    private func put(_ id: Int64, _ type: String, _ row: String, _ subkey: String? = nil) -> Operation {
        Operation(
            id: id, kind: .put, objectType: type, objectID: row, subkey: subkey,
            checksum: Checksum(UInt32(id)), data: "{}")
    }

    private func segments(_ lines: [Operation]..., after: OperationID = 0) -> [OperationSegment] {
        Array(OperationSegments(lines.map { OperationList($0) }, after: after))
    }

    private func keys(_ segment: OperationSegment) -> [String] {
        segment.keyed.map { String(decoding: segment.keys[$0.key], as: UTF8.self) }
    }

    @Test func keysAreInOrderHoweverTheyDiffer() throws {
        let segment = try #require(
            segments(
                [put(1, "todos", "b"), put(2, "todos", "a", "2"), put(3, "list", "z")],
                [put(4, "todos", "a", "1"), put(5, "t", ""), put(6, "todos", "a")]
            ).first)
        #expect(
            keys(segment) == [
                "list/z/null", "t//null", "todos/a/1", "todos/a/2", "todos/a/null", "todos/b/null",
            ])
        let names = segment.keyed.map {
            String(decoding: segment.keys[$0.type], as: UTF8.self) + "|"
                + String(decoding: segment.keys[$0.id], as: UTF8.self)
        }
        #expect(names == ["list|z", "t|", "todos|a", "todos|a", "todos|a", "todos|b"])
        #expect(segment.keyed.map(\.list) == [0, 1, 1, 0, 1, 0])
    }

    @Test func operationsOfOneKeyStayInTheOrderOfTheStream() throws {
        let segment = try #require(
            segments([put(1, "t", "a"), put(2, "t", "b"), put(3, "t", "a")], [put(4, "t", "a")]).first)
        #expect(keys(segment) == ["t/a/null", "t/a/null", "t/a/null", "t/b/null"])
        #expect(segment.keyed.map { [$0.list, $0.entry] } == [[0, 0], [0, 2], [1, 0], [0, 1]])
        segment.keys.withUnsafeBufferPointer { keys in
            #expect(OperationSegment.haveSameKey(segment.keyed[0], segment.keyed[1], in: keys))
            #expect(!OperationSegment.haveSameKey(segment.keyed[2], segment.keyed[3], in: keys))
        }
    }

    @Test func namesThatJoinToOneKeyMeet() throws {
        let segment = try #require(segments([put(1, "a/b", "c"), put(2, "a", "b/c")]).first)
        segment.keys.withUnsafeBufferPointer { keys in
            #expect(OperationSegment.haveSameKey(segment.keyed[0], segment.keyed[1], in: keys))
        }
    }

    @Test func keysThatBeginAlikeDiffer() throws {
        // One ends where the others go on.
        let segment = try #require(
            segments([put(1, "t", "0123456789b"), put(2, "t", "0123456789a"), put(3, "t", "0")]).first)
        #expect(keys(segment) == ["t/0/null", "t/0123456789a/null", "t/0123456789b/null"])
    }

    @Test func whatIsNotNewIsLeftOut() throws {
        let lines = [put(3, "t", "a"), put(5, "t", "b"), put(5, "t", "c"), put(4, "t", "d")]
        let segment = try #require(segments(lines, [put(5, "t", "e"), put(6, "t", "f")], after: 3).first)
        #expect(keys(segment) == ["t/b/null", "t/f/null"])
        #expect(segment.count == 2)
        #expect(segment.lastOp == 6)
    }

    @Test func aClearEndsItsSegment() {
        let clear = Operation(id: 2, kind: .clear, checksum: Checksum(7))
        let move = Operation(id: 3, kind: .move, checksum: Checksum(9))
        let nameless = Operation(id: 4, kind: .remove, checksum: Checksum(11))
        let found = segments([put(1, "t", "a"), clear, move], [nameless])
        #expect(found.map(\.clear) == [Checksum(7), nil])
        #expect(found.map(\.count) == [2, 2])
        #expect(found.map(\.loose) == [.zero, Checksum(20)])
        #expect(found.map(\.lastOp) == [2, 4])
        #expect(found.map { $0.keyed.count } == [1, 0])
    }
}
