import PowerSyncServiceEngine
import PowerSyncTestSupport
import Testing

/// DESIGN.md, 1: large values.
@Suite(.namesSeed)
struct LargeCellsTests {
    private static func packed(_ texts: [String?]) -> [UInt8] {
        var bytes: [UInt8] = []
        for text in texts {
            if let text {
                LargeCells.append(text.utf8, to: &bytes)
            } else {
                LargeCells.appendNull(to: &bytes)
            }
        }
        return bytes
    }

    private static func texts(_ cells: LargeCells) -> [String?] {
        (0..<cells.count).map { index in cells[index].map { String(decoding: $0, as: UTF8.self) } }
    }

    @Test func nullIsNoEmptyText() throws {
        let bytes = Self.packed(["", nil, "aé"])
        #expect(bytes == [1, 0, 4, 0x61, 0xC3, 0xA9])
        let cells = try LargeCells(stored: bytes, count: 3)
        #expect(Self.texts(cells) == ["", nil, "aé"])
        #expect(cells.bytes == bytes)
    }

    @Test func ofARowThatIsTooLargeThereAreLengths() throws {
        let cells = try LargeCells(stored: [0, 0xAC, 2], count: 2, areLengths: true)
        #expect(cells.lengths == [0, 300])
        #expect(Self.texts(cells) == [nil, nil])
        #expect(try LargeCells(stored: [0], count: 1).lengths == nil)
    }

    @Test func cellsReadBack() async throws {
        try await forEachSeed(200) { random in
            var texts: [String?] = []
            for _ in 0..<random.below(8) {
                texts.append(random.once(in: 3) ? nil : SampleOperation.text(&random, upTo: 400))
            }
            let cells = try LargeCells(stored: Self.packed(texts), count: texts.count)
            #expect(Self.texts(cells) == texts)
        }
    }

    @Test func refusesWhatAreNotSoManyCells() {
        let bytes = Self.packed(["a", nil])
        #expect(throws: StoreError.self) { try LargeCells(stored: bytes, count: 1) }
        #expect(throws: StoreError.self) { try LargeCells(stored: bytes, count: 3) }
        #expect(throws: StoreError.self) { try LargeCells(stored: [3, 0x61], count: 1) }
        #expect(throws: StoreError.self) { try LargeCells(stored: [0x80], count: 1) }
        // A length of 2⁶⁴ − 1.
        let endless = [UInt8](repeating: 0xFF, count: 9) + [1]
        #expect(throws: StoreError.self) { try LargeCells(stored: endless, count: 1) }
        // A length of more than 4 GiB.
        let long: [UInt8] = [0x80, 0x80, 0x80, 0x80, 0x10]
        #expect(throws: StoreError.self) { try LargeCells(stored: long, count: 1, areLengths: true) }
        #expect(throws: StoreError.self) { try LargeCells(stored: [1], count: 2, areLengths: true) }
    }
}
