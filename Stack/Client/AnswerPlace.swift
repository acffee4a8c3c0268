import PowerSyncSystem

/// A place among those who make an answer that may be large: there are few, and nobody begins while much is unwritten.
///
/// So a driving program that asks for much and does not read holds up its own commands, and no more is kept for it than
/// these few answers.
package final class AnswerPlace: Sendable {
    private let places: Budget
    private let output: AnswerOutput
    private let isTaken = Lock(false)

    /// Takes no place yet.
    ///
    /// - Parameters:
    ///   - places: how many there are, each of which takes 1 of it.
    ///   - output: where the answer goes.
    package init(among places: Budget, _ output: AnswerOutput) {
        self.places = places
        self.output = output
    }

    deinit { leave() }

    /// Takes a place, waiting for it and for room in the output.
    ///
    /// - Throws: `CancellationError`.
    package func take() async throws {
        try await places.take(1, until: .now + .seconds(365 * 24 * 60 * 60))
        isTaken.withLock { $0 = true }
        await output.room()
        try Task.checkCancellation()
    }

    /// Leaves the place, if it was taken: the answer is on its way.
    package func leave() {
        let wasTaken = isTaken.withLock { isTaken in
            defer { isTaken = false }
            return isTaken
        }
        if wasTaken { places.giveBack(1) }
    }
}
