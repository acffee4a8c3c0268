import PowerSyncCrypto
import PowerSyncCommandLine
import PowerSyncSystem

/// Has the keys of a running backend follow their folder (Backend/Tokens/SPEC.md).
///
/// What cannot be read, or has no signer although the one of before is there, leaves what is known; a key that is gone is gone.
package final class KeyWatch: Sendable {
    private struct State {
        var stamps: Set<KeyFolder.Stamp>
        /// What was read last and was good.
        var files: [KeyFile]
        var lastLook: ContinuousClock.Instant
        var lastComplaint: ContinuousClock.Instant?
        /// Whether somebody looks, who alone changes the rest meanwhile: a folder that hangs has one thread hang, and no
        /// lock.
        var isLooking = false
    }

    /// How often the folder is looked at.
    private static let interval = Duration.milliseconds(500)
    /// How often it is looked at for names that nobody knows.
    private static let shortest = Duration.milliseconds(100)
    /// How long anybody waits for a look.
    private static let patience = Duration.seconds(1)
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
        if let made = try folder.prepare(creating: .ES256, now: Int64(now())) {
            log.warning(
                "there was no key in JWT_KEYS_DIR, so one was made: but for the first start of all, the folder is not "
                    + "the one of before, whose tokens count no more",
                ["keys.folder": folder.path, "keys.kid": made.id])
        }
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
        while (try? await poller.sleep(until: .now + Self.interval)) != nil { await look(on: poller) }
    }

    /// Looks at the folder for the sake of a name that no key has, ten times a second at most.
    ///
    /// - Parameter poller: has a thread for it.
    /// - Returns: whether it was looked at.
    package func lookForUnknown(on poller: Poller) async -> Bool {
        let mayLook = state.withLock { state in
            guard !state.isLooking, ContinuousClock.now - state.lastLook >= Self.shortest else {
                return false
            }
            // At once: several may ask for the same.
            state.lastLook = .now
            return true
        }
        guard mayLook else { return false }
        return await look(on: poller)
    }

    /// Looks at the folder now on a thread of its own, for which nobody waits longer than a second.
    ///
    /// - Parameter poller: has the thread.
    /// - Returns: whether it was looked at; false while another look goes on.
    @discardableResult
    package func look(on poller: Poller) async -> Bool {
        do {
            let hasLooked = try await poller.value(until: .now + Self.patience) { self.look() }
            if let hasLooked { return hasLooked }
            state.withLock { complain("the folder does not answer: the keys stay as they are known", &$0) }
        } catch is CancellationError {
            // Nobody waits any more.
        } catch {
            state.withLock { complain("\(error)", &$0) }
        }
        return false
    }

    /// Looks at the folder now, on the thread that calls it; also the time changes what keys are good for.
    ///
    /// - Returns: whether it was looked at; false while another look goes on.
    @discardableResult
    package func look() -> Bool {
        let begun = state.withLock { state -> State? in
            guard !state.isLooking else { return nil }
            state.isLooking = true
            state.lastLook = .now
            return state
        }
        guard var known = begun else { return false }
        read(&known)
        known.isLooking = false
        state.withLock { $0 = known }
        return true
    }

    private func read(_ state: inout State) {
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

    private func complain(_ message: String, _ state: inout State) {
        if let last = state.lastComplaint, ContinuousClock.now - last < Self.complaints { return }
        state.lastComplaint = .now
        log.error("the keys of tokens are not as they should be", ["keys.problem": message])
    }
}
