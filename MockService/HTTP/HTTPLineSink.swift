import PowerSyncHTTP
import PowerSyncServiceEngine
import PowerSyncSystem

/// Sends lines as the body of a response: each is one chunk (service 1.5), and short ones leave together.
package final class HTTPLineSink: LineSink {
    private let writer: any HTTPBodyWriter
    private let isCut = Lock(false)

    /// Makes a sink.
    ///
    /// - Parameter writer: The body, to which nobody else writes.
    package init(_ writer: any HTTPBodyWriter) { self.writer = writer }

    /// Sends lines.
    package func send(_ lines: [EncodedLine]) async throws {
        do {
            try checkCut()
            var batch = Batch()
            for line in lines {
                if batch.bytes + line.count > LinePiece.most { try await send(&batch) }
                if line.count > LinePiece.most {
                    try await sendLong(line)
                } else {
                    batch.append(line)
                }
            }
            try await send(&batch)
        } catch {
            // Why the connection has ended is not its own doing then.
            try checkCut()
            throw error
        }
    }

    /// Cuts the connection.
    package func cut() {
        isCut.withLock { $0 = true }
        writer.cut()
    }

    private func checkCut() throws(LinesWereCut) { if isCut.withLock({ $0 }) { throw LinesWereCut() } }

    /// Whole lines that leave together, with the pieces that count until they have.
    private struct Batch {
        var bytes = 0
        var pieces: [[LinePiece]] = []

        mutating func append(_ line: EncodedLine) {
            bytes += line.count
            pieces.append(line.next(line.count))
        }
    }

    private func send(_ batch: inout Batch) async throws {
        if batch.pieces.isEmpty { return }
        let pieces = batch.pieces
        batch = Batch()
        try await writer.write(chunks: pieces.map { line in line.map(\.bytes) })
        withExtendedLifetime(pieces) {}
    }

    /// Sends a line that leaves in several goes: what a slow client has taken of it makes room for others.
    private func sendLong(_ line: EncodedLine) async throws {
        try writer.beginChunk(of: line.count)
        while true {
            let pieces = line.next(LinePiece.most)
            if pieces.isEmpty { return }
            try await writer.write(chunks: [pieces.map(\.bytes)])
            withExtendedLifetime(pieces) {}
        }
    }
}
