import PowerSyncWire
import Testing

/// How lines wait that are longer than what is kept of them as it came.
@Suite struct SyncLineReaderTests {
    /// Turns what it packs around, and says that it did.
    private static let turning = LinePacking(
        pack: { [0xAA] + $0.reversed() },
        unpack: { packed in
            precondition(packed.first == 0xAA, "this was not packed")
            return packed.dropFirst().reversed()
        })
    /// Loses what it packs, so that it shows.
    private static let losing = LinePacking(
        pack: { [UInt8](repeating: UInt8(ascii: "-"), count: $0.count) }, unpack: { $0 })

    /// Three blocks are packed of it, and the end is none.
    private static let long = longLine(SyncLineReader.plainBytes + 1_700_000)
    private static let short = SyncLine.tokenExpiresIn(20)

    private static func longLine(_ count: Int) -> SyncLine {
        let letters = Array("abcdefghijklmnopqrstuvw")
        var text = ""
        while text.utf8.count < count {
            text += String(letters[text.utf8.count % 23]) + "0123456789012345678"
        }
        return .unknown(key: text)
    }

    private func bytes(_ line: SyncLine, _ format: SyncLineFormat) -> [UInt8] {
        switch format {
        case .json: line.encoded() + [0x0A]
        case .bson: line.encodedBSON()
        }
    }

    private func read(
        _ stream: [UInt8], _ format: SyncLineFormat, chunk: Int, packing: LinePacking?
    ) throws -> [SyncLine] {
        var reader = SyncLineReader(format, limit: 48 << 20, packing: packing)
        var found: [SyncLine] = []
        for start in stride(from: 0, to: stream.count, by: chunk) {
            reader.append(Array(stream[start..<min(start + chunk, stream.count)]))
            while let (line, _) = try reader.next() { found.append(line) }
        }
        #expect(!reader.hasPartialLine)
        return found
    }

    @Test(arguments: [SyncLineFormat.json, .bson], [65_536, 100_003, 1 << 20])
    func aLongLineComesOutAsItWas(format: SyncLineFormat, chunk: Int) throws {
        let lines = [Self.short, Self.long, Self.short, Self.long, Self.short]
        let stream = lines.flatMap { bytes($0, format) }
        #expect(try read(stream, format, chunk: chunk, packing: Self.turning) == lines)
        #expect(try read(stream, format, chunk: chunk, packing: nil) == lines)
    }

    @Test(arguments: [SyncLineFormat.json, .bson])
    func whatComesBehindThe2MiBThatStayIsPacked(format: SyncLineFormat) throws {
        let found = try read(
            bytes(Self.long, format), format, chunk: 65_536, packing: Self.losing)
        guard case .unknown(let key) = found.first, case .unknown(let whole) = Self.long else {
            Issue.record("\(found.count) lines")
            return
        }
        let plain = SyncLineReader.plainBytes - 100
        #expect(key.utf8.count == whole.utf8.count)
        #expect(key.utf8.prefix(plain).elementsEqual(whole.utf8.prefix(plain)))
        #expect(key.utf8.count { $0 == UInt8(ascii: "-") } == 3 * (512 << 10))
        // Shorter lines are not touched.
        let most = Self.longLine(SyncLineReader.plainBytes - 100_000)
        #expect(try read(bytes(most, format), format, chunk: 65_536, packing: Self.losing) == [most])
    }

    @Test func aLineThatWaitsPackedIsRefusedAsSoonAsItIsTooLong() throws {
        let limit = 2 * SyncLineReader.plainBytes
        let chunk = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 16)
        var reader = SyncLineReader(.json, limit: limit, packing: Self.turning)
        for _ in 0..<limit / chunk.count {
            reader.append(chunk)
            #expect(try reader.next() == nil)
            #expect(reader.hasPartialLine)
        }
        reader.append([UInt8(ascii: "x"), UInt8(ascii: "x")])
        #expect(throws: WireError(.tooLarge, "a line has more than \(limit) bytes")) { try reader.next() }
    }

    /// It may be the first half of the line's end, or part of the line: that shows with the next byte.
    @Test func aCarriageReturnBehindTheLongestLineIsNotTooMuchYet() throws {
        let limit = 2 * SyncLineReader.plainBytes
        let line = [UInt8](repeating: UInt8(ascii: " "), count: limit)
        var reader = SyncLineReader(.json, limit: limit, packing: Self.turning)
        reader.append(line)
        #expect(try reader.next() == nil)
        reader.append([0x0D])
        #expect(try reader.next() == nil)
        reader.append([0x0A])
        let error = #expect(throws: WireError.self) { try reader.next() }
        #expect(error?.code == .malformedJSON, "it is as long as it may be, but empty")
        var longer = SyncLineReader(.json, limit: limit, packing: Self.turning)
        longer.append(line + [0x0D])
        #expect(try longer.next() == nil)
        longer.append([UInt8(ascii: " ")])
        #expect(throws: WireError(.tooLarge, "a line has more than \(limit) bytes")) { try longer.next() }
    }
}
