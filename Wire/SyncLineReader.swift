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

/// Reads the lines of a stream in either format, wherever the chunks were cut.
package struct SyncLineReader: Sendable {
    /// How the lines are spelled.
    package let format: SyncLineFormat
    private var lines: LineSplitter
    private var documents: DocumentSplitter

    /// Makes a reader.
    ///
    /// - Parameters:
    ///   - format: how the lines are spelled.
    ///   - limit: the largest line in bytes; a longer one is an error as soon as it is seen.
    package init(_ format: SyncLineFormat, limit: Int) {
        self.format = format
        lines = LineSplitter(limit: limit)
        documents = DocumentSplitter(limit: limit)
    }

    /// Takes the next bytes of the stream.
    package mutating func append(_ bytes: [UInt8]) {
        switch format {
        case .json: lines.append(bytes)
        case .bson: documents.append(bytes)
        }
    }

    /// Returns the next line with the bytes it took, nil until more have come.
    ///
    /// - Throws: `WireError` for a line that is too long or breaks the protocol.
    package mutating func next() throws(WireError) -> (line: SyncLine, size: Int)? {
        switch format {
        case .json:
            guard let bytes = try lines.next() else { return nil }
            return (try SyncLine(parsing: bytes), bytes.count)
        case .bson:
            guard let bytes = try documents.next() else { return nil }
            return (try SyncLine(parsingBSON: bytes), bytes.count)
        }
    }

    /// Whether bytes of an unfinished line are waiting.
    package var hasPartialLine: Bool { lines.hasPartialLine || documents.hasPartialDocument }
}
