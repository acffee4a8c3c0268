import PowerSyncSQLite
import PowerSyncSystem

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
            let mark = try await pool().read { try ClearMark.read($0) }
            return .claimed(claim(ticket, mark))
        case .make:
            let (connected, hasWaited) = loop.withLock { ($0.connected, $0.reducer.hasWaited) }
            guard let connected, case .connect(let make) = connected.request.work else {
                preconditionFailure("what has claimed the right to sync is kept until it is released")
            }
            if hasWaited, try await pool().read({ try ClearMark.read($0) }) != connected.clearMark {
                throw ClearedElsewhere()
            }
            let coordinator = try await make(pool())
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
        case .closeConnections:
            guard let connections = loop.withLock({ $0.connections.take() }) else { break }
            external?.end()
            await connections.pool.close()
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

    private func pool() throws -> SQLitePool {
        guard let pool = loop.withLock({ $0.connections?.pool }) else { throw PowerSyncError.closed }
        return pool
    }

    private func change(_ ticket: Int) async throws {
        guard case .change(let change) = request(ticket).work else { return }
        try await change(pool())
    }

    // MARK: Opening

    private func open(for database: LocalDatabase) async throws {
        let opener = try database.opener()
        let pool = try await opener.open { [weak self] tables in self?.changed(tables) }
        do {
            try await opener.log(pool)
            try await external?.begin(source(pool, for: database))
            let connections = OpenConnections(pool: pool, initialStatements: opener.initialStatements)
            loop.withLock { $0.connections = connections }
        } catch {
            await pool.close()
            throw error
        }
    }

    /// What tells of other processes' commits, as long as the connections are open.
    private func source(_ pool: SQLitePool, for database: LocalDatabase) -> ExternalChanges.Source {
        let (environment, logger) = (database.environment, database.logger)
        return ExternalChanges.Source(
            version: { [weak pool] in
                try await pool?.write { try $0.one("PRAGMA data_version") { $0.int64(0) } ?? 0 }
            },
            changed: { [weak self, weak pool] in
                self?.changed([TableChanges.external])
                guard let self, let pool else { return }
                do {
                    try await self.showStored(SyncDatabase(pool: pool, environment: environment))
                } catch is CancellationError {
                    // Nobody wants to know any more.
                } catch {
                    logger.warning(
                        "Could not read what another process has synced: \(error)", tag: LogTag.database)
                }
            },
            environment: environment,
            log: { severity, message in logger.log(severity, message, tag: LogTag.database) })
    }

    /// Shows what is stored, unless a stream shows more.
    private func showStored(_ database: SyncDatabase) async throws {
        try await status.refresh { try await database.read { try $0.offlineStatus() } }
    }

    /// Runs the statements of an instance that joins open connections, those that have not run there yet.
    private func runFirst(_ statements: [String]) async throws {
        let known = loop.withLock { $0.connections?.initialStatements ?? [] }
        for statement in statements where !known.contains(statement) {
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
