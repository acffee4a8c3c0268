import CPowerSyncSystem
import PowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Closes a descriptor; here because types with a `close` of their own hide the function.
func closeDescriptor(_ descriptor: Int32) { close(descriptor) }

/// One accepted connection as a source and sink of bytes.
struct Socket: Sendable {
    /// What a read brought.
    enum Received {
        case bytes
        case nothingNow
        case end
    }

    private struct End {
        /// Until it is closed; afterwards the number of the descriptor may be another connection's.
        var isOpen = true
        /// Why the system ended the connection, which it says once; 0 if it did not.
        var reason: Int32 = 0
    }

    /// How far parts have been sent.
    private struct Place {
        /// The index of the part that is next.
        var part = 0
        /// How many bytes of it have been sent.
        var offset = 0

        /// Goes on, over parts that end where it stands, too.
        mutating func advance(by count: Int, in parts: [[UInt8]]) {
            offset += count
            while part < parts.count, offset >= parts[part].count {
                offset -= parts[part].count
                part += 1
            }
        }
    }

    /// So many parts are offered to the system at once.
    private static let mostParts = 64

    /// A task that sends much gives way to others after this many bytes.
    private static let turn = 512 << 10

    let channel: Channel
    /// How long a client may take less than `writeMinimum` while more waits.
    let writeTimeout: Duration
    let writeMinimum: Int
    /// How many bytes a second a client must take of an answer that is there as a whole.
    let writeBytesPerSecond: Int
    /// Over all that is sent: many short pieces to a slow client are as slow as a long one.
    private let progress = Lock<(handedOver: Int, pace: WritePace?)>((0, nil))
    private let end = Lock(End())

    init(channel: Channel, writeTimeout: Duration, writeMinimum: Int, writeBytesPerSecond: Int) {
        self.channel = channel
        self.writeTimeout = writeTimeout
        self.writeMinimum = writeMinimum
        self.writeBytesPerSecond = writeBytesPerSecond
    }

    /// Reads what has arrived, up to 64 KiB; the buffer is gone afterwards, so that a parked connection has none.
    func receive(_ most: Int = 16 << 10, _ body: (UnsafeRawBufferPointer) -> Void) -> Received {
        withUnsafeTemporaryAllocation(byteCount: most, alignment: 16) { buffer in
            let count = powersync_receive(channel.descriptor, buffer.baseAddress, most)
            if count == 0 { return .end }
            // A connection that was reset has ended, too.
            if count < 0 { return -count == Int(EAGAIN) ? .nothingNow : .end }
            body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            return .bytes
        }
    }

    /// Sends parts one after another and returns when the system has taken them all; nothing is copied to join them.
    ///
    /// A cancelled task still sends what the system takes without waiting.
    ///
    /// - Parameters:
    ///   - parts: The parts, of which any may be empty.
    ///   - isWhole: Whether this is an answer of which all is in memory until it is taken: then the longer it is, the
    ///     more of it must be taken in each stretch of time.
    /// - Throws: `peerGone`, `writeTimeout`, or `CancellationError`.
    func send(_ parts: [[UInt8]], isWhole: Bool = false) async throws {
        let total = parts.reduce(0) { $0 + $1.count }
        let minimum = isWhole ? max(writeMinimum, min(total, mostPerStretch)) : writeMinimum
        // A stretch that began with an earlier answer asked for less.
        if isWhole { progress.withLock { $0.pace = nil } }
        var place = Place()
        var sent = 0
        var sentThisTurn = 0
        while sent < total {
            let count = attempt(parts, from: place)
            if count >= 0 {
                sent += count
                place.advance(by: count, in: parts)
                progress.withLock { $0.handedOver += count }
                sentThisTurn += count
                if sentThisTurn >= Self.turn, sent < total {
                    sentThisTurn = 0
                    await Task.yield()
                }
            } else if -count == Int(EAGAIN) {
                let pace = try judge(minimum)
                do {
                    // When the time is over the next attempt shows it.
                    _ = try await channel.writable(until: pace.end)
                } catch {
                    // The watch over the connection may have seen its end first.
                    throw reasonOfEnd() == ETIMEDOUT ? Self.tookNothing : error
                }
                sentThisTurn = 0
            } else {
                let isTimeout = -count == Int(ETIMEDOUT) || reasonOfEnd() == ETIMEDOUT
                throw isTimeout ? Self.tookNothing : HTTPServerError(.peerGone, "the client has left")
            }
        }
    }

    private var mostPerStretch: Int { Int(Double(writeBytesPerSecond) * (writeTimeout / .seconds(1))) }

    /// The system has waited for `peerTimeout`: whether the client has vanished or does not read, it took nothing.
    private static let tookNothing = HTTPServerError(.writeTimeout, "the client takes no bytes")

    /// Looks at a client that has not taken everything.
    ///
    /// - Returns: The stretch of time that it is in. One that began long ago is no wrong to it: the buffer was full
    ///   then, and who has caught up since has taken that much.
    /// - Throws: `writeTimeout`.
    private func judge(_ minimum: Int) throws(HTTPServerError) -> WritePace {
        let untaken = Int(max(0, powersync_untaken(channel.descriptor)))
        return try progress.withLock { progress throws(HTTPServerError) in
            let taken = progress.handedOver - untaken
            let pace = progress.pace ?? WritePace(taken: taken, now: .now, within: writeTimeout)
            progress.pace = pace.judged(taken: taken, now: .now, minimum: minimum)
            guard let current = progress.pace else {
                throw HTTPServerError(.writeTimeout, "the client takes too few bytes")
            }
            return current
        }
    }

    /// Whether bytes wait that nobody has read; closing now would reset the connection.
    var hasUnreadBytes: Bool {
        var byte: UInt8 = 0
        return recv(channel.descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) > 0
    }

    /// Closes the connection; a task that still writes is told that the client has left.
    func close() {
        channel.deregister()
        end.withLock { end in
            end.isOpen = false
            closeDescriptor(channel.descriptor)
        }
    }

    /// Asks the system why it has ended the connection, if it has, before another call makes it forget.
    ///
    /// - Returns: The errno; 0 if it has not, or said so to somebody else.
    func reasonOfEnd() -> Int32 {
        end.withLock { end in
            if end.isOpen, end.reason == 0 {
                var length = socklen_t(MemoryLayout<Int32>.size)
                // 0 stays, if it fails.
                getsockopt(channel.descriptor, SOL_SOCKET, SO_ERROR, &end.reason, &length)
            }
            return end.reason
        }
    }

    /// Says that nothing more will be sent.
    func finishSending() { shutdown(channel.descriptor, Int32(SHUT_WR)) }

    /// Sends parts without waiting, from where they were sent to; returns the number of bytes or a negative errno.
    private func attempt(_ parts: [[UInt8]], from place: Place) -> Int {
        withUnsafeTemporaryAllocation(of: iovec.self, capacity: Self.mostParts) { vector in
            offer(parts, from: place, vector, 0)
        }
    }

    /// Names a part to the system, and those behind it while that one is lent; then all of them are sent.
    private func offer(
        _ parts: [[UInt8]], from place: Place, _ vector: UnsafeMutableBufferPointer<iovec>, _ count: Int
    ) -> Int {
        var place = place
        // Nothing of an empty one is sent, and it would take the place of another.
        place.advance(by: 0, in: parts)
        guard place.part < parts.count, count < vector.count else {
            return end.withLock { end in
                guard end.isOpen else { return -Int(EPIPE) }
                return powersync_send(channel.descriptor, vector.baseAddress, Int32(count))
            }
        }
        return parts[place.part].withUnsafeBytes { bytes in
            let left = UnsafeMutableRawBufferPointer(
                mutating: UnsafeRawBufferPointer(rebasing: bytes[place.offset...]))
            vector.initializeElement(at: count, to: iovec(iov_base: left.baseAddress, iov_len: left.count))
            return offer(parts, from: Place(part: place.part + 1), vector, count + 1)
        }
    }
}
