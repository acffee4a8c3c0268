import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncWire

/// The work of the life cycle that takes its time.
extension DatabaseGroup {
    /// Does one piece of work and tells the reducer of its end.
    func work(_ work: LifecycleWork) async {
        do {
            post(try await attempt(work))
        } catch {
            post(.finished(PowerSyncError.shown(error)))
        }
    }

    /// Does a piece of work; returns what tells of its end.
    private func attempt(_ work: LifecycleWork) async throws -> LifecycleEvent {
        switch work {
        case .open(let ticket): try await open(for: request(ticket).database)
        case .prepare(let ticket):
            let database = request(ticket).database
            try await runFirst(database.initialStatements)
            try await database.prepare(pool())
        case .claim(let ticket):
            // Read before: whoever clears behind it may have signed another user in.
            let mark = try await clearMark()
            status.progress.takeIn(clearMark: mark)
            return .claimed(claim(ticket, mark))
        case .make(let ticket):
            let (connected, hasWaited) = loop.withLock { ($0.connected, $0.reducer.hasWaited) }
            guard let connected, case .connect(let make) = connected.request.work else {
                preconditionFailure("what has claimed the right to sync is kept until it is released")
            }
            if hasWaited, try await clearMark() != connected.clearMark {
                throw ClearedElsewhere()
            }
            let coordinator = try await make(pool(), ticket)
            loop.withLock { $0.sync = RunningSync(coordinator: coordinator) }
        case .clear(let ticket):
            try claimToClear(request(ticket).database)
            try await change(ticket)
        case .applySchema(let ticket): try await change(ticket)
        case .leave(let ticket):
            let database = request(ticket).database
            await database.member.leave()
            if streams.releaseAll(of: database.number) { _ = subscriptionsChanged() }
            leave(database.number)
            await closeUnused(of: database)
        case .closeConnections: try await closeConnections()
        case .removeFiles(let ticket): try request(ticket).database.removeFiles()
        }
        return .finished(nil)
    }

    private func request(_ ticket: Int) -> LifecycleRequest {
        guard let request = loop.withLock({ $0.requests[ticket] }) else {
            preconditionFailure("a wish is worked on until it is answered")
        }
        return request
    }

    private func pool() throws -> any ConnectionPool {
        guard let pool = loop.withLock({ $0.connections?.pool }) else { throw PowerSyncError.closed }
        return pool
    }

    /// Reads which clearing was the last one: with the writer where the app has all that reads, since its reads may take
    /// any time.
    private func clearMark() async throws -> String? {
        let pool = try pool()
        if let mark = try await pool.readIfFree({ try ClearMark.read($0) }) { return mark }
        return try await pool.write { try ClearMark.read($0) }
    }

    private func change(_ ticket: Int) async throws {
        guard case .change(let change) = request(ticket).work else { return }
        try await change(pool())
    }

    // MARK: Opening

    private func open(for database: LocalDatabase) async throws {
        let opener = try database.opener()
        let pool = try await connections(for: database, opener)
        do {
            try await opener.log(pool)
            try await external?.begin(source(pool, for: database))
            let connections = OpenConnections(pool: pool, initialStatements: opener.initialStatements)
            loop.withLock { $0.connections = connections }
        } catch {
            await pool.leave()
            throw error
        }
    }

    /// Opens the connections of the file, or makes ready those that the app has opened.
    private func connections(
        for database: LocalDatabase, _ opener: DatabaseOpener
    ) async throws -> any ConnectionPool {
        guard let appPool = database.member.appPool else {
            return try await opener.open { [weak self] tables in self?.changed(tables) }
        }
        let (environment, logger) = (database.environment, database.logger)
        let pool = BorrowedPool(appPool, sleep: environment.sleep)
        pool.follow { [weak self, weak pool] tables in
            guard let self, let pool else { return }
            self.changed(tables)
            if tables.contains(TableChanges.external) { await self.readAgain(pool, environment, logger) }
        }
        try await pool.all { _, _ in }
        return pool
    }

    /// Reads what may have been stored elsewhere, after a pool of the app's own has told so.
    private func readAgain(
        _ pool: BorrowedPool, _ environment: SyncEnvironment, _ logger: any LoggerProtocol
    ) async {
        let database = SyncDatabase(pool: pool, environment: environment)
        await reading(logger) {
            let subscriptions = try await database.read { try $0.subscriptionList() }
            if pool.notes(subscriptions: subscriptions) { await subscriptionsChangedElsewhere(pool) }
            try await showStored(database)
        }
    }

    /// Takes in that another process may have stored subscriptions, or ended some that are held here.
    private func subscriptionsChangedElsewhere(_ pool: any ConnectionPool) async {
        let database = loop.withLock { $0.reducer.isSyncing ? $0.connected?.request.database : nil }
        guard let database else { return }
        // Before syncing looks: a stream without them would be opened, and then another one with them.
        await database.renewSubscriptions(pool, leasing: false)
        _ = subscriptionsChanged()
    }

    /// What tells of other processes' commits, as long as the connections are open.
    private func source(_ pool: any ConnectionPool, for database: LocalDatabase) -> ExternalChanges.Source {
        let (environment, logger) = (database.environment, database.logger)
        return ExternalChanges.Source(
            version: { [weak pool] in
                try await pool?.write { try $0.one("PRAGMA data_version") { $0.int64(0) } ?? 0 }
            },
            changed: { [weak self, weak pool] in
                self?.changed([TableChanges.external])
                guard let self, let pool else { return }
                await self.subscriptionsChangedElsewhere(pool)
                await self.reading(logger) {
                    try await self.showStored(SyncDatabase(pool: pool, environment: environment))
                }
            },
            environment: environment,
            log: { severity, message in logger.log(severity, message, tag: LogTag.database) })
    }

    /// Shows what is stored once something that reads is free: nobody waits for that.
    func showLater(_ database: SyncDatabase) {
        guard let logger = loop.withLock({ $0.connected?.request.database.logger }) else { return }
        // No child of the loop, so that closing can cancel it and see its end.
        let showing = Task { await self.reading(logger) { try await self.showStored(database) } }
        let former = loop.withLock { loop in
            defer { loop.showing = showing }
            return loop.showing
        }
        // It would show nothing that this one does not.
        former?.cancel()
    }

    /// Shows what is stored, unless a stream shows more.
    private func showStored(_ database: SyncDatabase) async throws {
        try await status.refresh { try await database.read { try $0.offlineStatus() } }
    }

    /// Reads what is stored; a failure is told to the log, since nobody waits for it.
    private func reading(_ logger: any LoggerProtocol, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            // Nobody wants to know any more.
            if error is CancellationError || Task.isCancelled { return }
            logger.warning("Could not read what was synced: \(error)", tag: LogTag.database)
        }
    }

    /// Runs the statements of an instance that joins open connections, those that have not run there yet.
    private func runFirst(_ statements: [String]) async throws {
        let known = Set(loop.withLock { $0.connections?.initialStatements ?? [] }.map { ExactText($0) })
        for statement in statements where !known.contains(ExactText(statement)) {
            try await pool().all { writer, readers in
                for connection in [writer] + readers {
                    // Whatever comes of it, the connections are also those of others.
                    let result = Result { try DatabaseOpener.runFirst([statement], on: connection) }
                    try DatabaseOpener.configure(connection, isWriter: connection === writer)
                    connection.setBusyTimeout(DatabaseOpener.busyTimeout)
                    try result.get()
                }
            }
            loop.withLock { $0.connections?.initialStatements.append(statement) }
        }
    }

    // MARK: Closing

    /// Closes the connections.
    ///
    /// Those of a pool of the app's own stay open where nobody has asked for it, and the last instance was only let
    /// go of.
    private func closeConnections() async throws {
        let (connections, showing, isAskedFor) = loop.withLock { loop in
            (
                loop.connections.take(), loop.showing.take(),
                loop.reducer.queue.first.map { loop.requests[$0.id] != nil } ?? false
            )
        }
        guard let connections else { return }
        external?.end()
        showing?.cancel()
        await showing?.value
        if isAskedFor { try await connections.pool.close() } else { await connections.pool.leave() }
    }

    /// Closes the pool that an instance has brought, where neither the connections nor another instance stand on it.
    private func closeUnused(of database: LocalDatabase) async {
        guard let appPool = database.member.appPool, !hasBroughtElsewhere(appPool) else { return }
        let pool = loop.withLock { $0.connections?.pool } as? BorrowedPool
        if let pool, pool.stands(on: appPool) { return }
        do {
            try await appPool.close()
        } catch {
            database.logger.warning(
                "Could not close a pool that was not used: \(error)", tag: LogTag.database)
        }
    }

    // MARK: The right to sync

    /// Claims the right to sync for a wish; what was connected before is forgotten.
    private func claim(_ ticket: Int, _ mark: String?) -> SyncLock.Holder {
        let request = request(ticket)
        let connected = ConnectedInstance(
            request: request, observation: external?.observe(), clearMark: mark)
        // What was there goes out of the lock: an instance may go with it.
        _ = loop.withLock { loop -> ConnectedInstance? in
            defer { loop.connected = connected }
            return loop.connected
        }
        guard let lock else { return .us }
        return lock.claim(request.database.environment, log: request.database.syncLog) { [weak self] holder in
            self?.post(.holderChanged(holder, ticket: ticket))
        }
    }

    /// Claims the right to sync, so that no process begins to while the data is removed; the reducer gives it up.
    private func claimToClear(_ database: LocalDatabase) throws {
        let holder = lock?.claim(database.environment, log: database.syncLog) { _ in }
        guard holder != .another else {
            throw PowerSyncError(.invalidState, "Cannot clear a database that another process syncs")
        }
    }
}
