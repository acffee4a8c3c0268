import PowerSyncSQLite
import PowerSyncSystem

/// The work of the life cycle that takes its time.
extension DatabaseGroup {
    /// Does one piece of work and tells the reducer of its end.
    func work(_ work: LifecycleWork) async {
        do {
            try await attempt(work)
            post(.finished(nil))
        } catch {
            post(.finished(PowerSyncError.shown(error)))
        }
    }

    private func attempt(_ work: LifecycleWork) async throws {
        switch work {
        case .open(let ticket): try await open(request(ticket).database.opener())
        case .prepare(let ticket):
            let database = request(ticket).database
            try await runFirst(database.initialStatements)
            try await database.prepare(pool())
        case .make(let ticket):
            guard case .connect(let make) = request(ticket).work else { return }
            let coordinator = try await make(pool())
            loop.withLock { $0.sync = RunningSync(coordinator: coordinator) }
        case .clear(let ticket), .applySchema(let ticket):
            guard case .change(let change) = request(ticket).work else { return }
            try await change(pool())
        case .leave(let ticket):
            let database = request(ticket).database
            await database.member.leave()
            leave(database.number)
        case .closeConnections:
            guard let connections = loop.withLock({ $0.connections.take() }) else { return }
            connections.closing.raise()
            await connections.pool.close()
        case .removeFiles(let ticket): try request(ticket).database.removeFiles()
        }
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

    private func open(_ opener: DatabaseOpener) async throws {
        let pool = try await opener.open { [weak self] tables in self?.changed(tables) }
        do {
            try await opener.log(pool)
            var external: ExternalChanges?
            if let path = opener.location.resolved {
                external = try await ExternalChanges(path: path, pool: pool)
            }
            let connections = OpenConnections(
                pool: pool, external: external, initialStatements: opener.initialStatements)
            loop.withLock { $0.connections = connections }
        } catch {
            await pool.close()
            throw error
        }
    }

    /// Runs the statements of an instance that joins open connections, those that have not run there yet.
    private func runFirst(_ statements: [String]) async throws {
        let known = loop.withLock { $0.connections?.initialStatements ?? [] }
        let missing = statements.filter { !known.contains($0) }
        guard !missing.isEmpty else { return }
        try await pool().all { writer, readers in
            for connection in [writer] + readers {
                try DatabaseOpener.configure(
                    connection, isWriter: connection === writer, initialStatements: missing)
                connection.setBusyTimeout(DatabaseOpener.busyTimeout)
            }
        }
        loop.withLock { $0.connections?.initialStatements += missing }
    }

    // MARK: While the connections are open

    /// Tells the instances what other processes change, until it is cancelled.
    func watchOthers(_ connections: OpenConnections) async {
        guard var external = connections.external else { return }
        while !Task.isCancelled {
            do {
                try await ContinuousClock().sleep(for: ExternalChanges.interval)
                // Whoever starts to watch later reads what is there then.
                guard isObserved else { continue }
                if try await external.look(connections.pool) { changed([TableChanges.external]) }
            } catch {
                // Cancelled; or a look has failed, and the next one sees what this one could not.
            }
        }
    }
}
