import PowerSyncSystem

/// A line as it is sent, without what it was made of; what was taken of it is not held any more.
///
/// It is sent once. Its bytes lie where they were made: those of a frame are sent by other streams, too.
package final class EncodedLine: Sendable {
    private struct Rest {
        /// The last one first.
        var pieces: [LinePiece]
        var left: Int
        var frame: Frame?
    }

    /// How many bytes it has.
    package let count: Int
    /// How many it had before compression.
    package let plainBytes: Int
    /// How many operations are in it.
    package let operations: Int

    private let account: LineAccount
    private let rest: Lock<Rest>

    /// Makes a line of its pieces.
    ///
    /// - Parameters:
    ///   - pieces: The pieces in order.
    ///   - account: Counts those that no other line has.
    ///   - plainBytes: How many bytes they had before compression.
    ///   - operations: How many operations are in them.
    ///   - frame: Whose pieces are among them.
    package init(
        _ pieces: [LinePiece], _ account: LineAccount, plainBytes: Int, operations: Int = 0,
        of frame: Frame? = nil
    ) {
        count = pieces.reduce(0) { $0 + $1.bytes.count }
        self.account = account
        self.plainBytes = plainBytes
        self.operations = operations
        rest = Lock(Rest(pieces: pieces.reversed(), left: count, frame: frame))
    }

    /// Has a room of the budget count the bytes that no other line has, until they are taken.
    package func charge(to room: LineBudget.Room) { account.charge(to: room) }

    /// Takes pieces off the front; who takes them holds them until they are sent.
    ///
    /// Until half of it was taken, other streams can have its frame. From then on what was taken is given back, unless
    /// another one sends it.
    ///
    /// - Parameter bytes: As many as come to no more bytes than that, but at least one.
    /// - Returns: The pieces in order; none at the end.
    package func next(_ bytes: Int) -> [LinePiece] {
        var frame: Frame?
        let pieces = rest.withLock { rest -> [LinePiece] in
            if rest.left <= count / 2 {
                frame = rest.frame
                rest.frame = nil
            }
            var taken: [LinePiece] = []
            var size = 0
            while let piece = rest.pieces.last, taken.isEmpty || size + piece.bytes.count <= bytes {
                size += piece.bytes.count
                taken.append(piece)
                rest.pieces.removeLast()
            }
            rest.left -= size
            return taken
        }
        // It may be the last reference: what goes with the frame goes without the lock.
        withExtendedLifetime(frame) {}
        return pieces
    }
}
