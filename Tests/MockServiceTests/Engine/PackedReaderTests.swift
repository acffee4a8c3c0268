import PowerSyncServiceEngine
import PowerSyncTestSupport
import Testing

/// DESIGN.md, 1: all varints are LEB128 without a sign.
struct PackedReaderTests {
    private func read<T>(_ bytes: [UInt8], _ body: (inout PackedReader) throws -> T) throws -> T {
        try bytes.withUnsafeBytes { buffer in
            var reader = PackedReader(buffer)
            let value = try body(&reader)
            return value
        }
    }

    private static let numbers: [(UInt64, [UInt8])] = [
        (0, [0]), (1, [1]), (127, [0x7F]), (128, [0x80, 0x01]), (300, [0xAC, 0x02]), (16_383, [0xFF, 0x7F]),
        (16_384, [0x80, 0x80, 0x01]),
        (UInt64(Int64.max), [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]),
        (.max, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]),
    ]

    @Test(arguments: numbers.indices)
    func numbersHaveTheBytesOfLEB128(_ index: Int) throws {
        let (number, expected) = Self.numbers[index]
        var bytes: [UInt8] = []
        Varint.append(number, to: &bytes)
        #expect(bytes == expected)
        #expect(Varint.count(number) == expected.count)
        #expect(try read(bytes) { try $0.varint() } == number)
    }

    @Test(.namesSeed) func numbersReadBack() async throws {
        try await forEachSeed(200) { random in
            let numbers = (0..<20).map { _ in random.next() >> UInt64(random.below(64)) }
            var bytes: [UInt8] = []
            for number in numbers { Varint.append(number, to: &bytes) }
            #expect(bytes.count == numbers.reduce(0) { $0 + Varint.count($1) })
            let found = try read(bytes) { reader in
                var found: [UInt64] = []
                while !reader.isAtEnd { found.append(try reader.varint()) }
                return found
            }
            #expect(found == numbers)
        }
    }

    private static let noNumbers: [[UInt8]] = [
        [], [0x80], [0xFF, 0xFF],
        // Another spelling of 0, and of 1.
        [0x80, 0x00], [0x81, 0x80, 0x00],
        // 65 bits, and eleven bytes.
        [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02],
        [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
    ]

    @Test(arguments: noNumbers.indices) func refusesWhatIsNoNumber(_ index: Int) {
        #expect(throws: StoreError.self) { try read(Self.noNumbers[index]) { try $0.varint() } }
    }

    @Test func refusesANumberOfMoreThan63Bits() throws {
        var bytes: [UInt8] = []
        Varint.append(UInt64(Int64.max) + 1, to: &bytes)
        #expect(throws: StoreError.self) { try read(bytes) { try $0.number() } }
        bytes = []
        Varint.append(Int64.max, to: &bytes)
        #expect(try read(bytes) { try $0.number() } == .max)
    }

    @Test func believesNoLengthBeyondTheEnd() throws {
        #expect(try read([3, 1, 2, 3]) { try $0.counted() } == 1..<4)
        #expect(throws: StoreError.self) { try read([4, 1, 2, 3]) { try $0.counted() } }
        #expect(throws: StoreError.self) { try read([1, 2]) { try $0.take(.max) } }
        #expect(try read([1, 2, 3, 4]) { try $0.littleEndian() } == 0x0403_0201)
        #expect(throws: StoreError.self) { try read([1, 2, 3]) { try $0.littleEndian() } }
        #expect(throws: StoreError.self) { try read([]) { try $0.byte() } }
    }

    @Test func numbersBelowZeroAreOurMistake() async {
        await #expect(processExitsWith: .failure) {
            var bytes: [UInt8] = []
            Varint.append(-1, to: &bytes)
        }
    }
}
