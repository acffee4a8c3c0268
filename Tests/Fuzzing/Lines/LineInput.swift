import PowerSyncWire

/// The two formats of a line.
enum LineFormat: String, CaseIterable {
    case json = "JSON"
    case bson = "BSON"

    func decode(_ bytes: [UInt8]) throws(WireError) -> SyncLine {
        switch self {
        case .json: try SyncLine(parsing: bytes)
        case .bson: try SyncLine(parsingBSON: bytes)
        }
    }
}

/// One input: its first byte chooses what the others are.
///
/// | first byte modulo 4 | the rest |
/// |---|---|
/// | 0 | a line in JSON |
/// | 1 | a line in BSON |
/// | 2 | a byte that chooses chunks and limit, then a stream of lines in JSON |
/// | 3 | the same in BSON |
struct LineInput {
    let format: LineFormat
    let isStream: Bool
    private let seed: UInt8
    private let bytes: [UInt8]

    init?(bytes: [UInt8]) {
        guard let choice = bytes.first else { return nil }
        format = choice % 2 == 0 ? .json : .bson
        isStream = choice & 2 != 0
        seed = bytes.dropFirst().first ?? 0
        self.bytes = Array(bytes.dropFirst(isStream ? 2 : 1))
    }

    func check(counting tally: inout Tally) {
        if isStream { checkStream(&tally) } else { checkLine(bytes, &tally) }
    }

    private func checkLine(_ bytes: [UInt8], _ tally: inout Tally) {
        do throws(WireError) {
            let line = try format.decode(bytes)
            LineProperties.check(line)
            if format == .json { LineProperties.check(line, isWhatATreeSays: bytes) }
            tally.count("\(format.rawValue) \(line.kind)")
            if case .data(let data) = line { tally.count("operations", data.operations.count) }
        } catch {
            if error.message.isEmpty { fatalError("an error without a message") }
            tally.count("\(format.rawValue) refused")
        }
    }

    // MARK: Streams

    private struct Outcome: Equatable {
        var pieces: [[UInt8]] = []
        var hasPartial = false
        var error: WireError?
    }

    private func checkStream(_ tally: inout Tally) {
        tally.count("\(format.rawValue) streams in chunks")
        let limit = seed & 1 == 0 ? 1 << 16 : 64
        let whole = split([bytes], limit)
        let other = split(Chunks.cut(bytes, seed: seed), limit)
        guard whole == other else { fatalError("the edges of chunks change what a stream is") }
        for piece in whole.pieces {
            if piece.count > limit { fatalError("a piece is over the limit") }
            checkLine(piece, &tally)
        }
    }

    private func split(_ chunks: [[UInt8]], _ limit: Int) -> Outcome {
        var outcome = Outcome()
        do throws(WireError) {
            switch format {
            case .json:
                var splitter = LineSplitter(limit: limit)
                for chunk in chunks {
                    splitter.append(chunk)
                    while let line = try splitter.next() { outcome.pieces.append(line) }
                }
                outcome.hasPartial = splitter.hasPartialLine
            case .bson:
                var splitter = DocumentSplitter(limit: limit)
                for chunk in chunks {
                    splitter.append(chunk)
                    while let document = try splitter.next() { outcome.pieces.append(document) }
                }
                outcome.hasPartial = splitter.hasPartialDocument
            }
        } catch {
            outcome.error = error
        }
        return outcome
    }
}

extension SyncLine {
    fileprivate var kind: String {
        switch self {
        case .checkpoint: "checkpoint"
        case .checkpointDiff: "checkpoint_diff"
        case .data: "data"
        case .checkpointComplete: "checkpoint_complete"
        case .partialCheckpointComplete: "partial_checkpoint_complete"
        case .tokenExpiresIn: "token_expires_in"
        case .unknown: "unknown"
        }
    }
}
