import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncServiceEngine

/// DESIGN.md, 1: places.
@Suite(.namesSeed)
struct RowPlacesTests {
    private static func key(_ values: [SQLiteValue]) -> RowKey {
        RowKey(values, of: ReplicaID(bytes: [UInt8](0..<16)))
    }

    @Test func aUsualRowHasThreeBytes() throws {
        let places = RowPlaces(places: [.init(bucket: 5, outputType: 3, objectID: "a")])
        #expect(try places.bytes(of: Self.key(["a"])) == [0, 10, 3])
        // As an integer it is spelled in digits.
        let number = RowPlaces(places: [.init(bucket: 5, outputType: 3, objectID: "-7")])
        #expect(try number.bytes(of: Self.key([-7])) == [0, 10, 3])
    }

    @Test func anIdOfItsOwnFollows() throws {
        let places = RowPlaces(
            hasLargeValues: true,
            places: [
                .init(bucket: 300, outputType: 200, objectID: "é"),
                .init(bucket: 1, outputType: 1, objectID: "a"),
                .init(bucket: 2, outputType: 1, objectID: ""),
            ])
        let bytes: [UInt8] = [1, 0xD9, 0x04, 0xC8, 0x01, 2, 0xC3, 0xA9, 2, 1, 5, 1, 0]
        #expect(try places.bytes(of: Self.key(["a"])) == bytes)
        #expect(try RowPlaces(stored: bytes, of: Self.key(["a"])) == places)
        // No column of several has the id.
        let own: [UInt8] = [0, 3, 1, 1, 0x61]
        let single = RowPlaces(places: [.init(bucket: 1, outputType: 1, objectID: "a")])
        #expect(try single.bytes(of: Self.key(["a", 1])) == own)
        #expect(try RowPlaces(stored: own, of: Self.key(["a", 1])) == single)
    }

    @Test func anIdIsLeftOutOnlyIfItHasTheSameBytes() throws {
        let key = Self.key(["é"])
        let places = RowPlaces(places: [.init(bucket: 1, outputType: 1, objectID: "e\u{301}")])
        let bytes = try places.bytes(of: key)
        #expect(bytes == [0, 3, 1, 3, 0x65, 0xCC, 0x81])
        #expect(try RowPlaces(stored: bytes, of: key) == places)
    }

    /// As rows of batches are packed: where they lie, without a text.
    @Test func operationsOfABatchHaveTheBytesOfTheirPlaces() async throws {
        try await forEachSeed(300) { random in
            let values: [SQLiteValue] = [
                "a", "", "-7", "e\u{301}", -7, 0, .integer(.max), .integer(.min), nil, 300, .real(1),
            ]
            let texts = [
                "a", "", "-7", "é", "e\u{301}", "0", "9223372036854775807", "-9223372036854775808", "300",
            ]
            let key = Self.key((0..<random.below(3)).map { _ in random.pick(values) })
            var bytes = Array("before".utf8)
            let start = bytes.count
            bytes += key.bytes
            let keyRange = start..<bytes.count
            let buckets = (0..<3).map { _ in Int64(1 + random.below(200)) }
            var operations: [EvaluatedBatch.Operation] = []
            var expected = RowPlaces(hasLargeValues: random.once(in: 2))
            for _ in 0..<random.below(4) {
                let text = random.pick(texts)
                let id = bytes.count
                bytes += Array(text.utf8)
                let operation = EvaluatedBatch.Operation(
                    bucket: random.below(3), type: Int64(1 + random.below(2)), id: id..<bytes.count,
                    record: 0..<0, checksum: .zero)
                operations.append(operation)
                expected.places.append(
                    RowPlaces.Place(
                        bucket: buckets[operation.bucket], outputType: operation.type, objectID: text))
            }
            let areDistinct = Set(expected.places).count == expected.places.count
            #expect(RowPlaces.areDistinct(operations[...], in: buckets, bytes) == areDistinct)
            var packed: [UInt8] = []
            RowPlaces.append(
                operations[...], in: buckets, hasLargeValues: expected.hasLargeValues, of: keyRange, bytes,
                to: &packed)
            let wanted = try expected.bytes(of: key)
            #expect(packed == wanted)
        }
    }

    @Test func lookupsStandBehindAZero() throws {
        let places = RowPlaces(
            places: [.init(bucket: 1, outputType: 1, objectID: "a")],
            lookups: [.init(definition: 200, key: [0x11, 7]), .init(definition: 1, key: [])])
        let bytes: [UInt8] = [0, 2, 1, 0, 0xC8, 0x01, 2, 0x11, 7, 1, 0]
        #expect(try places.bytes(of: Self.key(["a"])) == bytes)
        #expect(try RowPlaces(stored: bytes, of: Self.key(["a"])) == places)
        // A row that is in no bucket.
        let alone = RowPlaces(lookups: [.init(definition: 1, key: [5])])
        #expect(try alone.bytes(of: Self.key([nil])) == [0, 0, 1, 1, 5])
        #expect(try RowPlaces(stored: [0, 0, 1, 1, 5], of: Self.key([nil])) == alone)
    }

    private static func places(_ random: inout SeededRandom) -> RowPlaces {
        var places = RowPlaces(hasLargeValues: random.once(in: 2))
        for _ in 0..<random.below(4) {
            let text = SampleOperation.text(&random, upTo: 200)
            places.places.append(
                .init(
                    bucket: 1 + Int64(random.below(1 << (1 + random.below(40)))),
                    outputType: 1 + Int64(random.below(300)),
                    objectID: random.pick(["a", "7", "", "é", text])))
        }
        for _ in 0..<random.below(3) {
            places.lookups.append(
                .init(
                    definition: 1 + Int64(random.below(300)),
                    key: (0..<random.below(200)).map { UInt8(truncatingIfNeeded: $0) }))
        }
        return places
    }

    private static let keys = [key(["a"]), key([7]), key(["a", "7"]), key([.real(1)]), key([nil])]

    @Test func placesReadBackAndTheSameOnesHaveTheSameBytes() async throws {
        try await forEachSeed(300) { random in
            let key = random.pick(Self.keys)
            let (first, second) = (Self.places(&random), Self.places(&random))
            let bytes = try first.bytes(of: key)
            #expect(try RowPlaces(stored: bytes, of: key) == first)
            #expect(try (bytes == second.bytes(of: key)) == (first == second))
        }
    }

    private static let noPlaces: [[UInt8]] = [
        [],
        // An unknown flag; buckets without a number; no output type; an id that ends early.
        [2], [0, 1, 1, 0], [0, 2], [0, 3, 1], [0, 3, 1, 2, 0x61],
        // Nothing behind the zero; a lookup without a key, and one whose key ends early.
        [0, 0], [0, 0, 1], [0, 0, 1, 2, 5],
    ]

    @Test(arguments: noPlaces.indices) func refusesWhatAreNoPlaces(_ index: Int) {
        #expect(throws: StoreError.self) { try RowPlaces(stored: Self.noPlaces[index], of: Self.key(["a"])) }
    }

    @Test func refusesAPlaceWithoutItsId() {
        #expect(throws: StoreError.self) { try RowPlaces(stored: [0, 2, 1], of: Self.key(["a", "b"])) }
        #expect(throws: StoreError.self) { try RowPlaces(stored: [0, 2, 1], of: Self.key([.real(1)])) }
    }

    @Test func damagedBytesAreNoTrap() async throws {
        try await forEachSeed(300) { random in
            let key = random.pick(Self.keys)
            var bytes = try Self.places(&random).bytes(of: key)
            bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
            if random.once(in: 3) { bytes.removeLast() }
            do {
                let places = try RowPlaces(stored: bytes, of: key)
                // What was read can be written, and says the same.
                #expect(try RowPlaces(stored: places.bytes(of: key), of: key) == places)
            } catch is StoreError {
                // Refused, without a trap.
            }
        }
    }
}
