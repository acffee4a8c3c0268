import PowerSyncSystem

/// A bounded number of connections with one URI, handed to one caller at a time.
///
/// Connections are opened when needed. A transaction that a caller leaves open is rolled back; other state of the
/// session (SET, advisory locks, temporary tables) stays, so use the forms that end with the transaction.
package actor PostgresPool {
    /// The limits of a pool; the defaults are those of backend 8.2.
    package struct Limits: Sendable {
        /// Connections at most.
        package var size: Int
        /// Callers that may wait at most; one more is refused as `overloaded`.
        package var waiting: Int
        /// How long a caller waits before it is refused as `overloaded`, too.
        package var acquireTimeout: Duration
        /// How long connecting may take, with all hosts and addresses.
        package var connectTimeout: Duration
        /// A connection older than this, or than a tenth less or more, is replaced when it is next asked for.
        package var lifetime: Duration
        /// `PostgresConnection.setPatience` of each connection.
        package var patience: Duration?
        /// `PostgresConnection.setPreparedStatements` of each connection.
        package var preparedStatements = 0
        /// How long the rollback of what a caller left open may take; after that the connection is closed.
        package var rollbackTimeout = Duration.seconds(2)
        /// By when all connections must be out of use, which also ends what these are being put in order for.
        package var closingTime: ClosingTime?

        /// Makes limits of their parts.
        ///
        /// - Parameters:
        ///   - size: Connections at most.
        ///   - waiting: Callers that may wait at most; four times the size unless given.
        ///   - acquireTimeout: How long each waits.
        ///   - connectTimeout: How long connecting may take.
        ///   - lifetime: How old a connection may get.
        package init(
            size: Int, waiting: Int? = nil, acquireTimeout: Duration = .seconds(2),
            connectTimeout: Duration = .seconds(5), lifetime: Duration = .seconds(1800)
        ) {
            precondition(size > 0, "a pool needs at least one connection")
            self.size = size
            self.waiting = waiting ?? 4 * size
            self.acquireTimeout = acquireTimeout
            self.connectTimeout = connectTimeout
            self.lifetime = lifetime
        }

        /// Returns how old one connection may get: connections that were made together are not all replaced together.
        ///
        /// - Parameter chance: A number from 0 to 1.
        /// - Returns: The lifetime, less a tenth of it at 0, and a tenth more at 1.
        package func longestAge(at chance: Double) -> Duration { lifetime * (0.9 + 0.2 * chance) }
    }

    private struct Member: Sendable {
        let connection: PostgresConnection
        /// When it is too old.
        let end: ContinuousClock.Instant
    }

    /// What a waiting caller gets: a connection, or the right to open one.
    private enum Grant: Sendable {
        case member(Member)
        case vacancy
    }

    private struct Waiter {
        let id: Int
        let continuation: CheckedContinuation<Grant, any Error>
    }

    private let uri: String
    private let parameters: [String: String]
    private let addresses: PostgresAddressRules
    private let poller: Poller
    private let limits: Limits
    private let random: @Sendable () -> Double
    private var idle: [Member] = []
    private var waiters: [Waiter] = []
    /// Connections that exist or are being opened, never above `limits.size`.
    private var count = 0
    private var lastWaiter = 0
    private var isClosed = false

    /// Makes a pool that has connected to nothing yet.
    ///
    /// - Parameters:
    ///   - uri: A connection URI or keyword/value text of libpq.
    ///   - limits: How much it may use.
    ///   - parameters: Further keywords of libpq, which win over those of the URI.
    ///   - addresses: Which addresses may be connected to.
    ///   - poller: Watches the sockets; must outlive the pool.
    ///   - random: A number from 0 to 1, by which lifetimes differ.
    package init(
        uri: String, limits: Limits, parameters: [String: String] = [:],
        addresses: PostgresAddressRules = PostgresAddressRules(), poller: Poller,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
    ) {
        self.uri = uri
        self.limits = limits
        self.parameters = parameters
        self.addresses = addresses
        self.poller = poller
        self.random = random
    }

    /// Runs `body` with a connection of its own, which it must not keep.
    ///
    /// An error that says the server is gone, stands still or has become read-only also drops the idle connections.
    ///
    /// - Parameters:
    ///   - deadline: When getting the connection is over, if that is before the pool's own limits; `body` sees to itself.
    ///   - body: What is done with the connection.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; before that `PostgresError` with `overloaded`, `closed` or what connecting throws, none
    ///   of which `isOutcomeUnknown` but `closed`; `CancellationError`.
    @discardableResult
    package nonisolated func withConnection<Value: Sendable>(
        until deadline: ContinuousClock.Instant? = nil,
        _ body: @Sendable (PostgresConnection) async throws -> Value
    ) async throws -> Value {
        let member = try await acquire(until: deadline)
        do {
            let value = try await body(member.connection)
            await release(member)
            return value
        } catch {
            if let error = error as? PostgresError, await endsAll(error, member.connection) {
                await dropIdle()
                await member.connection.close()
            }
            // A cancelled task could not roll back, so the return has a task of its own.
            await Task { await release(member) }.value
            throw error
        }
    }

    /// Closes the idle connections now and the others when they come back; whoever waits gets `closed`.
    package func close() async {
        isClosed = true
        for waiter in waiters { waiter.continuation.resume(throwing: Self.closedError) }
        waiters = []
        await dropIdle()
    }

    /// Connections that exist, for health reports: those not in use, and all.
    package var statistics: (idle: Int, open: Int, waiting: Int) { (idle.count, count, waiters.count) }

    // MARK: Taking and giving back

    /// Whether the other connections are of no more use than the one that met the error.
    private nonisolated func endsAll(_ error: PostgresError, _ connection: PostgresConnection) async -> Bool {
        if error.isConnectionLost || error.sqlstate == "25006" { return true }
        // A server that could still stop the statement is well; else the connection is closed by now.
        guard error.code == .timedOut else { return false }
        return await !connection.isAlive
    }

    private func acquire(until deadline: ContinuousClock.Instant?) async throws -> Member {
        try Task.checkCancellation()
        guard !isClosed else { throw Self.closedError }
        while let member = idle.popLast() {
            if ContinuousClock.now < member.end, await member.connection.isAlive {
                return member
            }
            await member.connection.close()
            vacate()
        }
        if count < limits.size {
            count += 1
            return try await open(until: deadline)
        }
        switch try await waitForGrant(until: deadline) {
        case .member(let member): return member
        case .vacancy: return try await open(until: deadline)
        }
    }

    /// Opens a connection for which `count` has a place already.
    private func open(until deadline: ContinuousClock.Instant?) async throws -> Member {
        do {
            let left = deadline.map { ContinuousClock.now.duration(to: $0) } ?? limits.connectTimeout
            let connection = try await PostgresConnection.connect(
                uri, parameters: parameters, addresses: addresses, poller: poller,
                deadline: min(left, limits.connectTimeout))
            await connection.setPatience(limits.patience)
            await connection.setPreparedStatements(limits.preparedStatements)
            await connection.setClosingTime(limits.closingTime)
            return Member(connection: connection, end: .now + limits.longestAge(at: random()))
        } catch {
            vacate()
            throw error
        }
    }

    private func release(_ member: Member) async {
        guard !isClosed,
            await member.connection.isReusable(
                rollback: limits.rollbackTimeout, closing: limits.closingTime), !isClosed
        else {
            await member.connection.close()
            return vacate()
        }
        if waiters.isEmpty {
            idle.append(member)
        } else {
            waiters.removeFirst().continuation.resume(returning: .member(member))
        }
    }

    /// A place became free: the first who waits may open a connection.
    private func vacate() {
        if waiters.isEmpty {
            count -= 1
        } else {
            waiters.removeFirst().continuation.resume(returning: .vacancy)
        }
    }

    private func dropIdle() async {
        let dropped = idle
        idle = []
        for member in dropped {
            await member.connection.close()
            vacate()
        }
    }

    // MARK: Waiting

    private func waitForGrant(until deadline: ContinuousClock.Instant?) async throws -> Grant {
        guard waiters.count < limits.waiting else {
            throw PostgresError(.overloaded, "too many callers wait for a database connection")
        }
        lastWaiter += 1
        let id = lastWaiter
        let limit = ContinuousClock.now + limits.acquireTimeout
        let end = min(deadline ?? limit, limit)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [poller] in
                // It throws when the grant came first or the caller was cancelled: then there is nothing to end.
                guard (try? await poller.sleep(until: end)) != nil else { return }
                let error = PostgresError(.overloaded, "no database connection became free in time")
                await self.endWait(id, error)
            }
            defer { group.cancelAll() }
            return try await wait(id)
        }
    }

    private func wait(_ id: Int) async throws -> Grant {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if isClosed || Task.isCancelled {
                    continuation.resume(throwing: isClosed ? Self.closedError : CancellationError())
                } else {
                    waiters.append(Waiter(id: id, continuation: continuation))
                }
            }
        } onCancel: {
            Task { await self.endWait(id, CancellationError()) }
        }
    }

    /// Ends a wait unless it was granted meanwhile.
    private func endWait(_ id: Int, _ error: any Error) {
        guard let index = waiters.firstIndex(where: { $0.id == id }) else { return }
        waiters.remove(at: index).continuation.resume(throwing: error)
    }

    private static let closedError = PostgresError(.closed, "the connection pool is closed")
}

extension PostgresConnection {
    /// Whether the next caller can have it: alive, with nothing under way, outside of a transaction.
    ///
    /// A transaction that was left open is rolled back.
    ///
    /// - Parameters:
    ///   - time: How long that may take.
    ///   - closing: By when it must have ended.
    /// - Returns: False if the connection is to be closed.
    fileprivate func isReusable(rollback time: Duration, closing: ClosingTime?) async -> Bool {
        guard isAlive, activity == .idle else { return false }
        switch transactionStatus {
        case .idle: return true
        case .inTransaction, .inError:
            // A connection that cannot roll back is closed by the caller, whatever the reason.
            let end = ContinuousClock.now + time
            let rollback = try? await script("ROLLBACK", until: closing?.limit(end) ?? end)
            return rollback != nil && transactionStatus == .idle
        case .active, .unknown: return false
        }
    }
}
