import PowerSyncWire
import Testing

@Suite struct DocumentSplitterTests {
    private static let documents = [
        SyncLine.tokenExpiresIn(20).encodedBSON(), SyncLine.unknown(key: "").encodedBSON(),
        SyncLine.checkpointComplete(lastOpID: 1).encodedBSON(), [5, 0, 0, 0, 0],
    ]
    private static let stream = documents.flatMap { $0 } + SyncLine.tokenExpiresIn(1).encodedBSON().dropLast()

    private func split(_ chunks: [[UInt8]]) throws -> (documents: [[UInt8]], partial: Bool) {
        var splitter = DocumentSplitter(limit: 1 << 20)
        var documents: [[UInt8]] = []
        for chunk in chunks {
            splitter.append(chunk)
            while let document = try splitter.next() { documents.append(document) }
        }
        return (documents, splitter.hasPartialDocument)
    }

    @Test func findsTheSameDocumentsWhereverTheChunksAreCut() throws {
        let stream = Self.stream
        for first in 0...stream.count {
            for second in first...stream.count {
                let result = try split([
                    Array(stream[..<first]), Array(stream[first..<second]), Array(stream[second...]),
                ])
                #expect(result.documents == Self.documents)
                #expect(result.partial)
            }
        }
        #expect(try split(stream.map { [$0] }).documents == Self.documents)
        #expect(try split([Self.documents[0]]).partial == false)
    }

    @Test func refusesADocumentOverTheLimitAsSoonAsItsLengthIsThere() throws {
        var splitter = DocumentSplitter(limit: 8)
        splitter.append([5, 0, 0, 0, 0, 9, 0, 0])
        #expect(try splitter.next()?.count == 5)
        #expect(try splitter.next() == nil)
        splitter.append([0])
        #expect(throws: WireError(.tooLarge, "a document has more than 8 bytes")) { try splitter.next() }
    }

    @Test(arguments: [[0, 0, 0, 0], [4, 0, 0, 0], [255, 255, 255, 255], [0, 0, 0, 128]] as [[UInt8]])
    func refusesALengthThatNoDocumentHas(length: [UInt8]) {
        var splitter = DocumentSplitter(limit: 1 << 20)
        splitter.append(length)
        #expect(throws: WireError.self) { try splitter.next() }
    }

    @Test func keepsOnlyWhatIsNotYetRead() throws {
        var splitter = DocumentSplitter(limit: 1 << 20)
        let document = SyncLine.unknown(key: String(repeating: "k", count: 50_000)).encodedBSON()
        for _ in 0..<200 {
            splitter.append(document)
            #expect(try splitter.next() == document)
        }
        #expect(!splitter.hasPartialDocument)
    }
}
