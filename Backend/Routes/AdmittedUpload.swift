import PowerSyncSystem
import PowerSyncWire

/// An upload that was let in, until its answer has been taken; what it still has goes back with its last reference.
package final class AdmittedUpload: Sendable {
    /// The memory of one large upload goes back to the system when it is done, else that of each thread's next one
    /// would come on top.
    private static let largeMemory = 32 << 20
    /// What takes no more than this does not count: the pool of connections bounds how many of those there are, and a
    /// large upload must not hold up everybody.
    private static let smallMemory = 512 << 10

    private struct Held {
        var places = 0
        var hasTurn = false
        var memory = 0
        var isAnswered = false
    }

    private let admission: UploadAdmission
    private let user: ExactText
    private let line: UploadAdmission.Line
    private let held = Lock(Held())

    init(_ admission: UploadAdmission, _ user: ExactText, _ line: UploadAdmission.Line) {
        self.admission = admission
        self.user = user
        self.line = line
    }

    deinit {
        endWork(keeping: 0)
        let places = held.withLock { $0.places }
        if places > 0 { line.places.giveBack(places) }
        admission.leave(user)
    }

    func takePlaces(_ count: Int, until deadline: ContinuousClock.Instant) async throws {
        try await line.places.take(count, until: deadline)
        held.withLock { $0.places = count }
    }

    /// Waits for the user's turn.
    ///
    /// - Parameter deadline: until when.
    /// - Throws: `Budget.Refusal`, `CancellationError`.
    package func takeTurn(until deadline: ContinuousClock.Instant) async throws {
        try await line.turns.take(1, until: deadline)
        held.withLock { $0.hasTurn = true }
    }

    /// Waits for memory.
    ///
    /// - Parameters:
    ///   - amount: how many bytes.
    ///   - deadline: until when.
    /// - Throws: `Budget.Refusal`, `CancellationError`.
    package func takeMemory(_ amount: Int, until deadline: ContinuousClock.Instant) async throws {
        guard amount > Self.smallMemory else { return }
        try await admission.memory.take(amount, until: deadline)
        held.withLock { $0.memory = amount }
    }

    /// Ends the user's turn and gives back the memory, but for that of the answer.
    ///
    /// - Parameter answer: the bytes of the answer, which are there until they have been taken.
    package func endWork(keeping answer: Int) {
        let (before, after) = held.withLock { held in
            let before = held
            held.hasTurn = false
            held.memory = min(held.memory, answer)
            held.isAnswered = true
            return (before, held)
        }
        giveMemoryBack(before.memory, butFor: after.memory)
        if before.hasTurn { line.turns.giveBack(1) }
        if !before.isAnswered { admission.answered(user) }
    }

    private func giveMemoryBack(_ amount: Int, butFor rest: Int = 0) {
        guard amount > rest else { return }
        if amount >= Self.largeMemory { Memory.returnToSystem() }
        admission.memory.giveBack(amount, butFor: rest)
    }
}
