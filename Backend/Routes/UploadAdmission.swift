import PowerSyncSystem
import PowerSyncWire

/// Lets uploads in: so many of each user at a time, and no more than there is memory for (backend 7, numbers 9 and 20;
/// 8.2, fairness).
///
/// A device that sends one request after another is never refused, however many it sends.
package final class UploadAdmission: Sendable {
    /// A user's uploads, from the first byte of their bodies until their answers have been taken, have a place for each
    /// that may be in work and so many more: a slow device holds up no other one.
    private static let placesBeside = 7
    /// A body of more than a sixty-fourth of the room for bodies takes so many places, so that those of one user never
    /// fill the room.
    private static let placesOfLarge = 3
    private static let largeBodies = 64

    struct Line {
        let places: Budget
        let turns: Budget
        /// The uploads that were not answered yet; over a number of them the next is refused.
        var unanswered = 0
        /// The uploads that hold anything; with the last of them the line goes.
        var uploads = 0
    }

    private let perUser: Int
    private let mostWaiting: Int
    private let bodyLimit: Int
    private let largeBody: Int
    private let poller: Poller
    /// The memory for what is made of bodies, and for answers that have not been taken.
    package let memory: Budget
    private let lines = Lock<[ExactText: Line]>([:])

    /// Makes an admission that has let nobody in.
    ///
    /// - Parameters:
    ///   - configuration: how many and how much.
    ///   - poller: tells when somebody has waited too long.
    package init(_ configuration: BackendConfiguration, poller: Poller) {
        perUser = configuration.uploadsPerUser
        mostWaiting = configuration.uploadsWaiting
        bodyLimit = configuration.bodyLimit
        largeBody = configuration.bodyMemory / Self.largeBodies
        self.poller = poller
        memory = Budget(configuration.treeMemory, poller: poller)
    }

    /// The users of whom an upload is in work or waits.
    package var users: Int { lines.withLock { $0.count } }

    /// The uploads of a user that were not answered yet.
    package func unanswered(_ user: String) -> Int {
        lines.withLock { $0[ExactText(user)]?.unanswered ?? 0 }
    }

    /// Waits until the body of an upload may be read.
    ///
    /// - Parameters:
    ///   - user: the token's subject.
    ///   - length: the length that the body announces; nil if it announces none.
    ///   - deadline: until when to wait.
    /// - Returns: the upload, for which turn and memory can be had; with its last reference it gives back what it has.
    /// - Throws: `Budget.Refusal`, `CancellationError`.
    package func enter(
        _ user: String, length: Int?, until deadline: ContinuousClock.Instant
    ) async throws -> AdmittedUpload {
        let name = ExactText(user)
        let line = try lines.withLock { lines in
            var line = lines[name] ?? newLine
            guard line.unanswered < perUser + mostWaiting else { throw Budget.Refusal.lineIsFull }
            line.unanswered += 1
            line.uploads += 1
            lines[name] = line
            return line
        }
        let upload = AdmittedUpload(self, name, line)
        let places = (length ?? bodyLimit) > largeBody ? Self.placesOfLarge : 1
        try await upload.takePlaces(places, until: deadline)
        return upload
    }

    func answered(_ name: ExactText) { lines.withLock { $0[name]?.unanswered -= 1 } }

    func leave(_ name: ExactText) {
        lines.withLock { lines in
            lines[name]?.uploads -= 1
            if lines[name]?.uploads == 0 { lines[name] = nil }
        }
    }

    private var newLine: Line {
        Line(
            places: Budget(perUser + Self.placesBeside, poller: poller),
            turns: Budget(perUser, poller: poller))
    }
}
