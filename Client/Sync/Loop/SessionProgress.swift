/// What syncing a database file has come to, for whoever waits for a part of it: a connection, or a checkpoint that was
/// requested (client-api 1.20).
///
/// It outlives sync sessions: a request that the app has made holds across them.
package final class SessionProgress: Sendable {
    /// Whether ids may be allocated: only after the service has answered the request of the open stream.
    enum Seed: Sendable, Hashable {
        /// No stream is open that asks for checkpoints.
        case closed
        /// The request of the stream is under way.
        case waiting
        /// The service has answered.
        case answered
        /// The service knows no checkpoint requests.
        case refused
    }

    /// A request of the app.
    struct Request: Sendable {
        /// The id that the service is to show, or a greater one.
        let id: Int64
        /// Whether a checkpoint with it was applied.
        var isApplied = false
    }

    /// The state.
    struct State: Sendable {
        /// The number of the sync session that is under way; nil without one.
        var session: Int?
        /// Whether that session asks for checkpoints.
        var requestsCheckpoints = false
        /// Whether its stream is open.
        var isConnected = false
        /// Whether ids may be allocated.
        var seed = Seed.closed
        /// How often that has changed.
        var seedChanges = 0
        /// How many errors the sessions have shown, and how many of them before this one.
        var failureCount = 0
        var failuresBefore = 0
        /// The last of them.
        var failure: (any Error)?
        /// The greatest id that a checkpoint of this session has shown when it was applied.
        var applied: Int64 = 0
        /// The greatest id that the app asks for and that no applied checkpoint has shown.
        var awaited: Int64?
        /// The requests that the app holds, by number.
        var requests: [Int: Request] = [:]
        /// Which clearing was the last one when a session was about to begin.
        var clearMark: String?
        private var lastRequest = 0

        /// Notes a request; returns its number.
        mutating func add(_ id: Int64) -> Int {
            lastRequest += 1
            let isApplied = id <= applied
            requests[lastRequest] = Request(id: id, isApplied: isApplied)
            if !isApplied { awaited = max(awaited ?? id, id) }
            return lastRequest
        }

        /// Forgets all requests.
        mutating func forgetRequests() {
            requests = [:]
            awaited = nil
        }
    }

    let state = AsyncValue(State())

    // MARK: What sync says

    /// Says that a session begins.
    func begin(_ session: Int, requestsCheckpoints: Bool) {
        state.change { state in
            state.session = session
            state.requestsCheckpoints = requestsCheckpoints
            state.isConnected = false
            state.failuresBefore = state.failureCount
            state.applied = 0
            state.seed = .closed
            state.seedChanges += 1
        }
    }

    /// Says that a session is over; one that another has followed says nothing.
    func end(_ session: Int) {
        state.change { state in
            guard state.session == session else { return }
            state.session = nil
            state.requestsCheckpoints = false
            state.isConnected = false
            state.seed = .closed
            state.seedChanges += 1
        }
    }

    /// Says whether the stream is open.
    func connected(_ isConnected: Bool) { state.change { $0.isConnected = isConnected } }

    /// Says how far the request of the open stream is.
    func seed(_ seed: Seed) {
        state.change { state in
            state.seed = seed
            state.seedChanges += 1
        }
    }

    /// Notes a request that the app has made in a session; returns its number, nil when that session is over.
    func add(_ id: Int64, in session: Int) -> Int? {
        state.change { state in state.session == session ? state.add(id) : nil }
    }

    /// Says that an error is shown.
    func failed(_ error: any Error) {
        state.change { state in
            state.failureCount += 1
            state.failure = error
        }
    }

    /// Says that a checkpoint was applied which includes everything up to a request.
    func applied(_ id: Int64) {
        state.change { state in
            state.applied = max(state.applied, id)
            for (number, request) in state.requests where request.id <= id {
                state.requests[number]?.isApplied = true
            }
            if let awaited = state.awaited, awaited <= id { state.awaited = nil }
        }
    }

    /// Forgets all requests: what they stand for is of a user who has signed out.
    func forgetRequests() { state.change { $0.forgetRequests() } }

    /// Takes in which clearing was the last one, of whatever process, before a session begins: requests of before count for
    /// nothing any more.
    func takeIn(clearMark: String?) {
        state.change { state in
            if state.clearMark != clearMark { state.forgetRequests() }
            state.clearMark = clearMark
        }
    }

    // MARK: What the app waits for

    /// Waits until the stream of a session is open, at once if it is.
    ///
    /// - Parameter session: its number.
    /// - Throws: an error that the session has shown without one; `PowerSyncError` when it is over; `CancellationError`.
    func waitForConnection(in session: Int) async throws {
        let end = try await state.wait { state in
            state.isConnected || state.session != session || state.failureCount > state.failuresBefore
        }
        guard end.session == session else {
            throw PowerSyncError(.invalidState, "The database was disconnected before there was a connection")
        }
        if !end.isConnected, let failure = end.failure { throw PowerSyncError.shown(failure) }
    }

    /// Waits until a checkpoint that includes a request is applied.
    ///
    /// - Parameter number: the request.
    /// - Throws: `CheckpointWaitError`, `CancellationError`.
    func waitForSync(_ number: Int) async throws {
        let start = state.current
        if start.requests[number]?.isApplied == true { return }
        guard let session = start.session, start.requests[number] != nil else {
            throw CheckpointWaitError.disconnected
        }
        guard start.requestsCheckpoints else { throw CheckpointWaitError.checkpointRequestsNotEnabled }
        let end = try await state.wait { state in
            state.requests[number]?.isApplied != false || state.session != session
                || state.failureCount != start.failureCount
        }
        if end.requests[number]?.isApplied == true { return }
        guard end.session == session, end.requests[number] != nil else {
            throw CheckpointWaitError.disconnected
        }
        throw CheckpointWaitError.errorDetected(message: end.failure.map(CheckpointWaitError.text) ?? "")
    }
}
