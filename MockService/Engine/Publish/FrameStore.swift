import PowerSyncSystem
import PowerSyncWire

/// Operations that streams share: those that were published last, and those that somebody is sending (DESIGN.md, 2).
///
/// It belongs to one state file, whose ids of buckets it knows frames by.
package final class FrameStore: Sendable {
    /// Reads operations from the disk; nil if there are none.
    package typealias Read = @Sendable (FrameRequest) async throws -> Frame?

    private typealias Waiter = CheckedContinuation<Frame?, any Error>

    /// Where a published frame begins.
    private struct Place: Hashable {
        let bucket: Int64
        let after: OperationID
    }

    /// One reading, and who waits for it.
    private struct Reading {
        let id: UInt64
        let task: Task<Void, Never>
        var waiters: [UInt64: Waiter] = [:]
    }

    private struct Sent {
        weak var frame: Frame?
    }

    private struct State {
        /// Published frames by their number.
        var ring: [UInt64: Frame] = [:]
        var oldest: UInt64 = 0
        var places: [Place: Frame] = [:]
        var readings: [FrameRequest: Reading] = [:]
        /// What was read or cut, for as long as somebody sends it.
        var sent: [FrameRequest: Sent] = [:]
        /// At how many of those the ones that are gone are looked for.
        var mostSent = 64
        var lastID: UInt64 = 0

        mutating func nextID() -> UInt64 {
            lastID += 1
            return lastID
        }

        mutating func publish(_ frame: Frame) {
            ring[oldest + UInt64(ring.count)] = frame
            places[Place(bucket: frame.bucket, after: frame.after)] = frame
        }

        mutating func removeOldest() -> Frame? {
            guard let frame = ring.removeValue(forKey: oldest) else { return nil }
            oldest += 1
            // No other one begins there: neither ids of buckets nor those of operations are used again.
            places[Place(bucket: frame.bucket, after: frame.after)] = nil
            return frame
        }

        mutating func keep(_ frame: Frame, for request: FrameRequest) {
            if sent.count >= mostSent {
                sent = sent.filter { $0.value.frame != nil }
                mostSent = max(64, 2 * sent.count)
            }
            sent[request] = Sent(frame: frame)
        }

        func inMemory(_ request: FrameRequest) -> Frame? {
            let published = places[Place(bucket: request.bucket, after: request.after)]
            // A line for each commit is no way to send a bucket from its beginning.
            let isEnough = { (frame: Frame) in
                request.after > 0 || frame.last == request.last || frame.count >= request.rows
            }
            let isPublished = published.map { $0.last <= request.last && isEnough($0) } ?? false
            // Somebody may send what this one has to be cut to.
            if isPublished, let published, published.count <= request.rows { return published }
            return sent[request]?.frame ?? (isPublished ? published : nil)
        }
    }

    /// About what a frame takes besides its bytes: objects, locks and where it is found.
    private static let frameCost = 1 << 10

    private let limit: Int
    private let lines: LineBudget
    private let read: Read
    private let state = Lock(State())
    /// The bytes of all published frames that are kept.
    private let kept = Lock(0)

    /// Makes a store without frames.
    ///
    /// - Parameters:
    ///   - limit: How many bytes published frames take that are kept, with a kilobyte for each besides its own.
    ///   - lines: Counts what is sent and not kept.
    ///   - read: Reads from the disk.
    package init(limit: Int = StoreLimits().keptFrameBytes, lines: LineBudget, read: @escaping Read) {
        self.limit = limit
        self.lines = lines
        self.read = read
    }

    /// How many bytes published frames have that are kept, in all forms that were made of them, without what each takes
    /// besides.
    package var keptBytes: Int { kept.withLock { $0 } }

    /// How many readings are under way.
    package var readingCount: Int { state.withLock { $0.readings.count } }

    // MARK: Published frames

    /// Keeps frames that were published, and lets go of the oldest beyond the limit: who needs those reads the disk.
    ///
    /// What is being sent of one that went is counted with the lines.
    ///
    /// - Parameter frames: The frames in order, each with all that the bucket got behind the one before.
    package func publish(_ frames: [Frame]) {
        let gone = state.withLock { state -> [Frame] in
            for frame in frames {
                frame.charge(to: kept)
                state.publish(frame)
            }
            return removeOldest(from: &state, beyond: limit)
        }
        // They end without the lock.
        withExtendedLifetime(gone) {}
    }

    /// Lets go of all published frames: clients are served from another stream, and their buckets are being deleted.
    package func forgetPublished() {
        let gone = state.withLock { removeOldest(from: &$0, beyond: 0) }
        withExtendedLifetime(gone) {}
    }

    private func removeOldest(from state: inout State, beyond limit: Int) -> [Frame] {
        var gone: [Frame] = []
        while kept.withLock({ $0 }) + state.ring.count * Self.frameCost > limit,
            let frame = state.removeOldest()
        {
            frame.charge(to: lines.take(0))
            gone.append(frame)
        }
        return gone
    }

    /// Returns a frame that is in memory, as all are that a stream at the head needs; never waits.
    ///
    /// - Parameter request: What it must hold.
    /// - Returns: The frame, cut to the rows that may be sent; nil if the disk has to be read.
    /// - Throws: `StoreError` if the frame cannot be read.
    package func frame(inMemory request: FrameRequest) throws -> Frame? {
        guard let frame = state.withLock({ $0.inMemory(request) }) else { return nil }
        let cut = try frame.prefix(request.rows)
        guard cut !== frame else { return frame }
        // It is of those alone that ask for the same, of whom another one may have been faster.
        return state.withLock { state in
            if let other = state.sent[request]?.frame { return other }
            cut.charge(to: lines.take(0))
            state.keep(cut, for: request)
            return cut
        }
    }

    // MARK: Frames from the disk

    /// Whether what a request asks for is in memory, or on its way there.
    package func isAtHand(_ request: FrameRequest) -> Bool {
        state.withLock { $0.readings[request] != nil || $0.inMemory(request) != nil }
    }

    /// Whether what a request asks for is being read: who asks for it now has no part of its own read.
    package func isBeingRead(_ request: FrameRequest) -> Bool {
        state.withLock { $0.readings[request] != nil }
    }

    /// Returns a frame, read from the disk unless somebody sends it already; one read for all who ask at once.
    ///
    /// A reading goes on for as long as somebody waits for it.
    ///
    /// - Parameters:
    ///   - request: What it must hold.
    ///   - room: Counts the frame if this call is the one that has it read; the caller lets go of the room.
    /// - Returns: The frame; nil if there are no such operations.
    /// - Throws: What reading throws, and `CancellationError`.
    package func frame(_ request: FrameRequest, _ room: LineBudget.Room) async throws -> Frame? {
        let id = state.withLock { $0.nextID() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: Waiter) in
                let answer = state.withLock { state -> Result<Frame?, any Error>? in
                    // The cancellation handler may have run already and have found nobody waiting.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if let frame = state.sent[request]?.frame { return .success(frame) }
                    if state.readings[request] == nil {
                        let reading = state.nextID()
                        state.readings[request] = begin(request, reading, room)
                    }
                    state.readings[request]?.waiters[id] = continuation
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            leave(request, id)
        }
    }

    /// Begins a reading, whose end waits for the lock that the caller holds.
    private func begin(_ request: FrameRequest, _ id: UInt64, _ room: LineBudget.Room) -> Reading {
        let task = Task {
            do {
                let frame = try await read(request)
                frame?.charge(to: room)
                end(request, id, .success(frame))
            } catch {
                end(request, id, .failure(error))
            }
        }
        return Reading(id: id, task: task)
    }

    private func end(_ request: FrameRequest, _ id: UInt64, _ result: Result<Frame?, any Error>) {
        let waiters = state.withLock { state -> [Waiter] in
            // All who waited may have left, and others have come for whom it is read again.
            guard let reading = state.readings[request], reading.id == id else { return [] }
            state.readings[request] = nil
            if case .success(let frame?) = result { state.keep(frame, for: request) }
            return Array(reading.waiters.values)
        }
        for waiter in waiters { waiter.resume(with: result) }
    }

    private func leave(_ request: FrameRequest, _ id: UInt64) {
        let (waiter, task) = state.withLock { state -> (Waiter?, Task<Void, Never>?) in
            guard let waiter = state.readings[request]?.waiters.removeValue(forKey: id) else {
                return (nil, nil)
            }
            guard state.readings[request]?.waiters.isEmpty == true else { return (waiter, nil) }
            return (waiter, state.readings.removeValue(forKey: request)?.task)
        }
        task?.cancel()
        waiter?.resume(throwing: CancellationError())
    }
}
