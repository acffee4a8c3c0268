import PowerSyncTestSupport
import PowerSyncWire
import Testing

@Suite struct LineSplitterTests {
    private static let stream = Array(
        "{\"a\":\"é\u{2028}x\"}\n\r\n\n{\"b\":2}\r\n{\"c\":\"😀\"}\n{\"half".utf8)
    private static let lines = ["{\"a\":\"é\u{2028}x\"}", "{\"b\":2}", "{\"c\":\"😀\"}"]

    private func split(_ chunks: [[UInt8]]) throws -> (lines: [String], partial: Bool) {
        var splitter = LineSplitter(limit: 1 << 20)
        var lines: [String] = []
        for chunk in chunks {
            splitter.append(chunk)
            while let line = try splitter.next() { lines.append(String(decoding: line, as: UTF8.self)) }
        }
        return (lines, splitter.hasPartialLine)
    }

    @Test(.behaviour(104, 105)) func findsTheSameLinesWhereverTheChunksAreCut() throws {
        let stream = Self.stream
        for first in 0...stream.count {
            for second in first...stream.count {
                let chunks = [
                    Array(stream[..<first]), Array(stream[first..<second]), Array(stream[second...]),
                ]
                let result = try split(chunks)
                #expect(result.lines == Self.lines)
                #expect(result.partial)
            }
        }
        #expect(try split(stream.map { [$0] }).lines == Self.lines)
        #expect(try split(["foo\n", "\n", "\nbar\n"].map { Array($0.utf8) }).lines == ["foo", "bar"])
    }

    @Test func hasNoPartialLineAfterAWholeOne() throws {
        #expect(try split([Array("{}\n".utf8)]).partial == false)
    }

    @Test func refusesALineOverTheLimitBeforeItEnds() throws {
        var splitter = LineSplitter(limit: 8)
        splitter.append(Array("12345678\n123456".utf8))
        #expect(try splitter.next()?.count == 8)
        #expect(try splitter.next() == nil)
        splitter.append(Array("789".utf8))
        #expect(throws: WireError.self) { try splitter.next() }
    }

    @Test func takesALineAtTheLimitWhoseEndIsCutInTwo() throws {
        var splitter = LineSplitter(limit: 8)
        splitter.append(Array("12345678\r".utf8))
        #expect(try splitter.next() == nil)
        splitter.append(Array("\n".utf8))
        #expect(try splitter.next() == Array("12345678".utf8))
        splitter.append(Array("12345678\r\r".utf8))
        #expect(throws: WireError.self) { try splitter.next() }
    }

    @Test func keepsOnlyWhatIsNotYetRead() throws {
        var splitter = LineSplitter(limit: 1 << 20)
        let line = [UInt8](repeating: 0x61, count: 50_000) + [0x0A]
        for _ in 0..<200 {
            splitter.append(line)
            #expect(try splitter.next()?.count == 50_000)
        }
        #expect(!splitter.hasPartialLine)
    }
}
