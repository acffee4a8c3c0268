/// How the lines of a stream are spelled (client-core 5.1).
package enum SyncLineFormat: Sendable, Hashable {
    /// Objects in JSON, each ended by LF.
    case json
    /// Documents in BSON, one behind the other.
    case bson

    /// What the service calls it.
    package var mediaType: String {
        switch self {
        case .json: "application/x-ndjson"
        case .bson: "application/vnd.powersync.bson-stream"
        }
    }

    /// Takes a media type without parameters, in lower case; nil for any other.
    package init?(mediaType: String) {
        switch mediaType {
        case SyncLineFormat.json.mediaType: self = .json
        case SyncLineFormat.bson.mediaType: self = .bson
        default: return nil
        }
    }
}

/// Makes less of bytes, and the same bytes of that again.
package struct LinePacking: Sendable {
    /// Returns the bytes packed.
    package let pack: @Sendable ([UInt8]) -> [UInt8]
    /// Returns the bytes that were packed.
    package let unpack: @Sendable ([UInt8]) -> [UInt8]

    /// Makes a way to pack of its two directions.
    package init(
        pack: @escaping @Sendable ([UInt8]) -> [UInt8], unpack: @escaping @Sendable ([UInt8]) -> [UInt8]
    ) {
        self.pack = pack
        self.unpack = unpack
    }
}

/// Reads the lines of a stream in either format, wherever the chunks were cut.
///
/// A line that is not whole waits. Of a long one, what comes behind the first 2 MiB waits packed: a few compressed bytes may
/// hold a line of any length, and should not take that much memory before it is known whether the line is too long.
package struct SyncLineReader: Sendable {
    /// How many bytes of a line wait as they came.
    ///
    /// Few lines have more: the service begins another one behind a megabyte or a thousand operations (service 3.4).
    package static let plainBytes = 2 << 20
    /// How many bytes are packed together.
    private static let blockBytes = 512 << 10

    /// How the lines are spelled.
    package let format: SyncLineFormat
    private let limit: Int
    private let packing: LinePacking?
    private var lines: LineSplitter
    private var documents: DocumentSplitter
    /// What comes behind the bytes in the splitters: blocks, packed, then less than a block; and how many bytes these are.
    private var blocks: [[UInt8]] = []
    private var rest: [UInt8] = []
    private var waiting = 0

    /// Makes a reader.
    ///
    /// - Parameters:
    ///   - format: how the lines are spelled.
    ///   - limit: the largest line in bytes; a longer one is an error as soon as it is seen.
    ///   - packing: how long lines wait; nil for as they came.
    package init(_ format: SyncLineFormat, limit: Int, packing: LinePacking? = nil) {
        self.format = format
        self.limit = limit
        self.packing = packing
        lines = LineSplitter(limit: limit)
        documents = DocumentSplitter(limit: limit)
    }

    /// Takes the next bytes of the stream.
    package mutating func append(_ bytes: [UInt8]) {
        if let packing {
            if canWait(bytes) { return pack(bytes, packing) }
            unpack(packing)
        }
        feed(bytes)
    }

    /// Returns the next line with the bytes it took, nil until more have come.
    ///
    /// - Throws: `WireError` for a line that is too long or breaks the protocol.
    package mutating func next() throws(WireError) -> (line: SyncLine, size: Int)? {
        switch format {
        case .json:
            guard let bytes = try lines.next() else {
                // Of a document the length is known; a CR at the end may belong to the line's.
                guard lines.partialCount + waiting <= limit + 1 else {
                    throw WireError(.tooLarge, "a line has more than \(limit) bytes")
                }
                return nil
            }
            return (try SyncLine(parsing: bytes), bytes.count)
        case .bson:
            guard let bytes = try documents.next() else { return nil }
            return (try SyncLine(parsingBSON: bytes), bytes.count)
        }
    }

    /// Whether bytes of an unfinished line are waiting.
    package var hasPartialLine: Bool { lines.hasPartialLine || documents.hasPartialDocument }

    private mutating func feed(_ bytes: [UInt8]) {
        switch format {
        case .json: lines.append(bytes)
        case .bson: documents.append(bytes)
        }
    }

    /// Looks whether bytes belong to the middle of a long line.
    private func canWait(_ bytes: [UInt8]) -> Bool {
        switch format {
        case .json: lines.partialCount >= Self.plainBytes && !bytes.contains(0x0A)
        case .bson:
            documents.partialCount >= Self.plainBytes
                && waiting + bytes.count < documents.missingCount
        }
    }

    private mutating func pack(_ bytes: [UInt8], _ packing: LinePacking) {
        waiting += bytes.count
        rest += bytes
        guard rest.count >= Self.blockBytes else { return }
        blocks.append(packing.pack(rest))
        rest.removeAll(keepingCapacity: true)
    }

    private mutating func unpack(_ packing: LinePacking) {
        guard waiting > 0 else { return }
        for block in blocks { feed(packing.unpack(block)) }
        feed(rest)
        (blocks, rest, waiting) = ([], [], 0)
    }
}
