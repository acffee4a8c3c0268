import PowerSyncStack
import Testing

struct CommandLinesTests {
    private static func lines(_ pieces: [[UInt8]], limit: Int = 10) -> [CommandLines.Line] {
        var lines = CommandLines(limit: limit)
        var found: [CommandLines.Line] = []
        for piece in pieces {
            lines.append(piece)
            while let line = lines.next() { found.append(line) }
        }
        lines.finish()
        while let line = lines.next() { found.append(line) }
        return found
    }

    private static func text(_ line: String) -> CommandLines.Line { .text(Array(line.utf8)) }

    /// Whatever the pieces are, the lines are the same.
    @Test(arguments: 1...12)
    func aLineIsWhatEndsWithAnLF(size: Int) {
        let bytes = Array("one\r\n\n  \t\ntwo é\nsomething too long\r\n1234567890\r\nlast".utf8)
        let pieces = stride(from: 0, to: bytes.count, by: size).map {
            Array(bytes[$0..<min($0 + size, bytes.count)])
        }
        #expect(
            Self.lines(pieces) == [
                Self.text("one"), Self.text("two é"), .tooLong(Array("something too long".utf8)),
                Self.text("1234567890"), Self.text("last"),
            ])
    }

    @Test func oneByteMoreThanTheLimitIsTooLong() {
        #expect(Self.lines([Array("1234567890\n".utf8)]) == [Self.text("1234567890")])
        let long = Array("12345678901".utf8)
        #expect(Self.lines([long + [0x0A]]) == [.tooLong(long)])
        #expect(Self.lines([long]) == [.tooLong(long)])
    }

    /// Whatever the pieces are, and however long the line is.
    @Test(arguments: [1, 7, 4095, 4096, 4097, 10_000])
    func ofALineThatIsTooLongTheBeginningIsKept(size: Int) {
        let line = (0..<10_000).map { UInt8(ascii: "a") + UInt8($0 % 26) }
        let pieces = stride(from: 0, to: line.count, by: size).map {
            Array(line[$0..<min($0 + size, line.count)])
        }
        for limit in [10, 4096, 9_998] {
            #expect(Self.lines(pieces + [[0x0A]], limit: limit) == [.tooLong(Array(line[..<4096]))])
        }
    }

    @Test func nothingIsNoLine() {
        #expect(Self.lines([]).isEmpty)
        #expect(Self.lines([Array("\n\r\n".utf8)]).isEmpty)
    }

    @Test func blankLinesCountWhereTheyAreWanted() {
        var lines = CommandLines(limit: 10, keepsBlankLines: true)
        lines.append(Array("one\n\n \t\r\ntwo\n".utf8))
        lines.finish()
        var found: [CommandLines.Line] = []
        while let line = lines.next() { found.append(line) }
        // What is behind the last end of a line is none.
        #expect(found == [Self.text("one"), Self.text(""), Self.text(" \t"), Self.text("two")])
    }
}
