import PowerSync
import PowerSyncSystem

/// The lines for a driving program, one after the other, each written by one call.
///
/// A thread that may block writes them, so that a program that does not read holds up neither syncing nor the other
/// commands. Whoever has added a line waits while more than a limit is not written yet, and whoever makes a line that may
/// be large has waited before: the queue holds no more than that, one small line for each command, and what an
/// ``AnswerPlace`` lets be made at a time.
package final class AnswerOutput: Sendable {
    private struct Waiter {
        /// How many bytes may be left.
        let rest: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var lines: [String] = []
        /// How many bytes are not written yet.
        var bytes = 0
        var isWriting = false
        var isAbandoned = false
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0

        mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
            let ready = waiters.filter { isAbandoned || bytes <= $0.value.rest }
            for id in ready.keys { waiters[id] = nil }
            return ready.values.map(\.continuation)
        }
    }

    /// How many bytes may wait before whoever adds more waits, too.
    private static let limit = 1 << 20

    private let state = Lock(State())
    private let write: @Sendable (String) throws -> Void
    /// Why nothing is written any more.
    private let failed = AsyncValue<(any Error)?>(nil)

    /// Makes an output with nothing in it.
    ///
    /// - Parameter write: writes a line and its end with one call; may block. What it throws is the end of the output.
    package init(_ write: @escaping @Sendable (String) throws -> Void) { self.write = write }

    /// Why lines are not written any more; nil as long as they are.
    package var failure: (any Error)? { failed.current }

    /// Waits until a line cannot be written.
    ///
    /// - Throws: `CancellationError`.
    package func waitForFailure() async throws { _ = try await failed.wait { $0 != nil } }

    /// How many tasks wait for room, or until everything is written.
    package var waiting: Int { state.withLock { $0.waiters.count } }

    /// How many bytes are not written yet, ends of lines included.
    var unwritten: Int { state.withLock { $0.bytes } }

    /// Adds a line; it is written soon.
    package func put(_ line: String) {
        let mustStart = state.withLock { state in
            state.lines.append(line)
            state.bytes += Self.size(of: line)
            defer { state.isWriting = true }
            return !state.isWriting
        }
        guard mustStart else { return }
        do {
            try DetachedThread.start { self.drain() }
        } catch {
            // Without another thread this one writes, and holds up who it may.
            drain()
        }
    }

    /// Waits for room; not at all in a task that is cancelled.
    package func room() async { await wait(forRest: Self.limit) }

    /// Waits until everything is written; not any longer once the task is cancelled.
    package func flush() async { await wait(forRest: 0) }

    /// Lets everybody go who waits: what is not written yet stays so, and what is added, too.
    package func abandon() {
        let waiters = state.withLock { state in
            state.isAbandoned = true
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    private static func size(of line: String) -> Int { line.utf8.count + 1 }

    /// Writes until nothing is left.
    private func drain() {
        while let lines = takeLines() {
            for line in lines {
                if !state.withLock({ $0.isAbandoned }) { writeOrFail(line) }
                let waiters = state.withLock { state in
                    state.bytes -= Self.size(of: line)
                    return state.takeWaiters()
                }
                for waiter in waiters { waiter.resume() }
            }
        }
    }

    private func writeOrFail(_ line: String) {
        do {
            try write(line)
        } catch {
            failed.change { $0 = error }
            abandon()
        }
    }

    private func takeLines() -> [String]? {
        state.withLock { state in
            guard !state.lines.isEmpty else {
                state.isWriting = false
                return nil
            }
            defer { state.lines = [] }
            return state.lines
        }
    }

    private func wait(forRest rest: Int) async {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    // The handler of a task that is cancelled already has run, and found nobody to let go.
                    if Task.isCancelled || state.isAbandoned || state.bytes <= rest { return true }
                    state.waiters[id] = Waiter(rest: rest, continuation: continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume()
        }
    }
}
