import PowerSyncCrypto
import PowerSyncCommandLine
import PowerSyncSystem

/// Has the keys of a running backend follow their folder (Backend/DESIGN.md 4).
///
/// What cannot be read, or has no signer although the one of before is there, leaves what is known; a key that is gone is gone.
package final class KeyWatch: Sendable {
    private struct State {
        var stamps: Set<KeyFolder.Stamp>
        /// What was read last and was good.
        var files: [KeyFile]
        var lastLook: ContinuousClock.Instant
        var lastComplaint: ContinuousClock.Instant?
    }

    /// How often the folder is looked at.
    private static let interval = Duration.milliseconds(500)
    /// How often it is looked at for names that nobody knows.
    private static let shortest = Duration.milliseconds(100)
    /// How often the log says that something is wrong.
    private static let complaints = Duration.seconds(60)

    /// The keys.
    package let keys: SigningKeys
    private let folder: KeyFolder
    private let lifetime: Int64
    private let now: @Sendable () -> Double
    private let log: Log
    private let state: Lock<State>

    /// Reads the folder, in which a first key is made if there is none.
    ///
    /// - Parameters:
    ///   - folder: the folder.
    ///   - lifetime: how long a token lives.
    ///   - now: seconds since 1970.
    ///   - log: where it says what is wrong with the folder.
    /// - Throws: `BackendError` with `.keys`.
    package init(
        _ folder: KeyFolder, lifetime: Duration, now: @escaping @Sendable () -> Double, log: Log
    ) throws(BackendError) {
        try folder.prepare(creating: .ES256, now: Int64(now()))
        // What changes in between is read again.
        let stamps = try folder.stamps()
        let files = try folder.read()
        let seconds = lifetime.components.seconds
        let roster = try KeyRoster(files, now: Int64(now()), lifetime: seconds)
        keys = SigningKeys(try roster.signingSet())
        self.folder = folder
        self.lifetime = seconds
        self.now = now
        self.log = log
        state = Lock(State(stamps: stamps, files: files, lastLook: .now))
    }

    /// Looks at the folder twice a second until the task is cancelled.
    package func run(_ poller: Poller) async {
        // An error means that the task is cancelled, or that the poller has stopped.
        while (try? await poller.sleep(until: .now + Self.interval)) != nil { look() }
    }

    /// Looks at the folder for the sake of a name that no key has, ten times a second at most.
    ///
    /// - Returns: whether it was looked at.
    package func lookForUnknown() -> Bool {
        let mayLook = state.withLock { state in
            guard ContinuousClock.now - state.lastLook >= Self.shortest else { return false }
            // At once: several may ask for the same.
            state.lastLook = .now
            return true
        }
        if mayLook { look() }
        return mayLook
    }

    /// Looks at the folder now; also the time changes what keys are good for.
    package func look() {
        state.withLock { state in
            state.lastLook = .now
            do throws(BackendError) {
                let stamps = try folder.stamps()
                let files = try stamps == state.stamps ? state.files : folder.read()
                let roster = try KeyRoster(files, now: Int64(now()), lifetime: lifetime)
                let former = keys.set.signer?.id
                let isThere = roster.entries.contains { $0.file.id == former && $0.standing != .over }
                if roster.signer == nil, isThere { _ = try roster.signingSet() }
                keys.replace(with: try roster.set())
                (state.stamps, state.files) = (stamps, files)
                if roster.signer != nil {
                    state.lastComplaint = nil
                } else {
                    complain("the key that signed is gone: nobody gets a token", &state)
                }
            } catch {
                complain(error.message, &state)
                // Time goes on for those that are known; that they are good they have shown.
                let known = try? KeyRoster(state.files, now: Int64(now()), lifetime: lifetime).set()
                if let known { keys.replace(with: known) }
            }
        }
    }

    private func complain(_ message: String, _ state: inout State) {
        if let last = state.lastComplaint, ContinuousClock.now - last < Self.complaints { return }
        state.lastComplaint = .now
        log.error("the keys of tokens are not as they should be", ["keys.problem": message])
    }
}
