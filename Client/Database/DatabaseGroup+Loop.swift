import PowerSyncSystem

/// The one loop of a database file: whoever brings an event lets the reducer decide, one task does what comes of it.
extension DatabaseGroup {
    /// Asks for something and waits until it is so.
    ///
    /// A caller that is cancelled stops waiting; what it asked for is done nevertheless, but for opening, and for what
    /// was asked for after the cancellation and does not end syncing. Closing is always waited for. A callback of the
    /// connector that the SDK itself has cancelled waits, too: it is not the app that wants to go.
    ///
    /// - Parameters:
    ///   - wish: what is asked for.
    ///   - database: the instance.
    ///   - work: what is to be done, where the wish alone does not tell.
    /// - Throws: `PowerSyncError`, what the work throws, `CancellationError`.
    func submit(
        _ wish: LifecycleWish, of database: LocalDatabase, _ work: LifecycleRequest.Work = .none
    ) async throws {
        let call = ConnectorCall.current
        let ticket = LifecycleTicket(
            id: loop.withLock { $0.nextID() }, wish: wish, instance: database.number,
            call: call.flatMap { $0.group === self ? $0.id : nil })
        let request = LifecycleRequest(database: database, work: work)
        let stays: @Sendable () -> Bool = { wish.isClose || call?.isCancelled == true }
        try await withTaskCancellationHandler {
            try await withThrowingResumption {
                (continuation: Resumption<Void, any Error>) in
                var isLeft = false
                post(.wished(ticket)) { loop in
                    // The handler below runs after the task is marked: one of the two sees the other.
                    isLeft = Task.isCancelled && !stays()
                    if isLeft, !wish.outlivesItsCaller { return false }
                    loop.requests[ticket.id] = request
                    if !isLeft { loop.waiters[ticket.id] = continuation }
                    return true
                }
                if loop.withLock({ $0.reducer.isClosing(ticket.instance) }) { database.member.refuseUse() }
                if isLeft { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            if stays() { return }
            guard let waiter = loop.withLock({ $0.waiters.removeValue(forKey: ticket.id) }) else { return }
            waiter.resume(throwing: CancellationError())
            post(.abandoned(ticket: ticket.id))
        }
    }

    /// Says that the last reference to an instance is gone.
    func drop(_ number: Int) {
        leave(number)
        post(.dropped(instance: number, ticket: loop.withLock { $0.nextID() }))
    }

    /// Lets the reducer decide what comes of an event; never blocks.
    ///
    /// - Parameters:
    ///   - event: what has happened.
    ///   - prepare: notes what belongs to the event; false if it is none after all.
    func post(_ event: LifecycleEvent, _ prepare: (inout LifecycleLoop) -> Bool = { _ in true }) {
        let mustStart = loop.withLock { loop in
            guard prepare(&loop) else { return false }
            let effects = loop.reducer.reduce(event)
            loop.effects += effects
            guard !loop.isRunning, !loop.effects.isEmpty else { return false }
            loop.isRunning = true
            return true
        }
        guard mustStart else { return arrived.raise() }
        // What runs in it is no part of the callback in which it began.
        ConnectorCall.$current.withValue(nil) {
            _ = Task { await self.run() }
        }
    }

    private func run() async {
        await withDiscardingTaskGroup { tasks in
            while let effect = await nextEffect() { perform(effect, in: &tasks) }
        }
    }

    /// Waits for something to do; nil once nothing is open or under way.
    private func nextEffect() async -> LifecycleEffect? {
        while true {
            let (effect, isOver) = loop.withLock { loop -> (LifecycleEffect?, Bool) in
                if !loop.effects.isEmpty { return (loop.effects.removeFirst(), false) }
                loop.isRunning = !loop.reducer.isAtRest
                return (nil, !loop.isRunning)
            }
            if effect != nil || isOver { return effect }
            // Nobody cancels the loop.
            try? await arrived.wait()
        }
    }

    private func perform(_ effect: LifecycleEffect, in tasks: inout DiscardingTaskGroup) {
        switch effect {
        case .work(.open(let ticket)):
            let cancellation = AsyncFlag()
            loop.withLock { $0.opening = cancellation }
            tasks.addTask {
                await withCancellation(by: cancellation) { await self.work(.open(ticket: ticket)) }
            }
        case .work(let work): tasks.addTask { await self.work(work) }
        case .cancelOpening: loop.withLock { $0.opening }?.raise()
        case .startSync:
            guard let sync = loop.withLock({ $0.sync }) else { return }
            showElsewhere(false)
            // No child, so that it can be cancelled on the spot: all that it has begun is, before the next effect.
            let running = Task { () -> SyncDatabase? in
                await sync.coordinator.run()
                return await sync.coordinator.isStale ? sync.coordinator.database : nil
            }
            loop.withLock { $0.sync?.running = running }
            tasks.addTask {
                if let stale = await running.value { self.showLater(stale) }
                self.forgetSync()
                self.post(.syncEnded)
            }
        case .stopSync: loop.withLock { $0.sync?.running }?.cancel()
        case .discardSync: forgetSync()
        case .showElsewhere:
            showElsewhere(true)
            keepSubscriptions(in: &tasks)
        case .release:
            lock?.release()
            showElsewhere(false)
            // Let go of out of the lock: an instance may go with it.
            _ = loop.withLock { $0.connected.take() }
        case .tellFailure(let error): tell(error)
        case .startPause(let number):
            guard let database = loop.withLock({ $0.connected?.request.database }) else { return }
            let end = AsyncFlag()
            loop.withLock { $0.pause = end }
            let (sleep, delay) = (database.environment.sleep, SyncOptions().retryDelay)
            tasks.addTask {
                await withCancellation(by: end) {
                    // Who does not sleep to the end is not needed any more.
                    guard (try? await sleep(delay)) != nil else { return }
                    self.post(.pauseOver(number: number))
                }
            }
        case .endPause: loop.withLock { $0.pause.take() }?.raise()
        case .startCall(let id): startCall(id, in: &tasks)
        case .cancelCall(let id): cancelCall(id)
        case .startPatience(let id, let number):
            guard let call = loop.withLock({ $0.calls[id]?.call }) else { return }
            let end = AsyncFlag()
            loop.withLock { $0.patience[id] = end }
            tasks.addTask {
                await withCancellation(by: end) {
                    // Who does not sleep to the end is not needed any more.
                    guard (try? await call.environment.sleep(ConnectorCall.patience)) != nil else { return }
                    self.post(.patienceOver(call: id, number: number))
                }
            }
        case .endPatience(let id): loop.withLock { $0.patience.removeValue(forKey: id) }?.raise()
        case .cutOff(let id):
            loop.withLock { $0.patience[id] = nil }
            loop.withLock { $0.calls[id]?.call }?.cutOff()
        case .answer(let ticket, let answer):
            // Let go of out of the lock: an instance may go with it.
            _ = loop.withLock { $0.requests.removeValue(forKey: ticket) }
            loop.withLock { $0.waiters.removeValue(forKey: ticket) }?.resume(with: answer.result)
        }
    }

    /// Lets go of what syncs: outside of the lock, because an instance may go with it.
    private func forgetSync() { _ = loop.withLock { $0.sync.take() } }

    /// Shows why what waited could not begin to sync.
    private func tell(_ error: any Error) {
        guard let database = loop.withLock({ $0.connected?.request.database }) else { return }
        let shown = error is ClearedElsewhere ? PowerSyncError(.invalidState, Self.cleared) : error
        database.syncLog(.error, "Syncing in place of another process could not begin: \(shown)")
        status.update { snapshot in
            snapshot.downloadError = shown
            return true
        }
    }

    private static let cleared =
        "Another process has cleared the database, and this one does not sync any more until it connects again"

    /// Renews what is held here, until this process syncs or gives up.
    private func keepSubscriptions(in tasks: inout DiscardingTaskGroup) {
        let keeping = SubscriptionKeeping()
        let (former, database, pool) = loop.withLock { loop in
            let former = loop.keeping
            loop.keeping = keeping
            return (former, loop.connected?.request.database, loop.connections?.pool)
        }
        former?.end.raise()
        guard let database, let pool else { return }
        tasks.addTask {
            await withCancellation(by: keeping.end) {
                await database.keepSubscriptions(pool, after: keeping.subscribed)
            }
        }
    }

    /// Tells of a stored subscription whose handle may be the first.
    func subscribed() { loop.withLock { $0.keeping }?.subscribed.raise() }

    private func showElsewhere(_ isElsewhere: Bool) {
        if !isElsewhere { loop.withLock { $0.keeping.take() }?.end.raise() }
        status.update { snapshot in
            let before = snapshot
            snapshot.isSyncedElsewhere = isElsewhere
            // What failed here says nothing of how the other process gets on.
            if isElsewhere { (snapshot.downloadError, snapshot.uploadError) = (nil, nil) }
            return snapshot.isSyncedElsewhere != before.isSyncedElsewhere
                || isElsewhere && (before.downloadError ?? before.uploadError) != nil
        }
    }
}

extension LifecycleAnswer {
    /// What the caller of the wish gets.
    fileprivate var result: Result<Void, any Error> {
        switch self {
        case .done: .success(())
        case .closed: .failure(PowerSyncError.closed)
        case .connected:
            .failure(PowerSyncError(.invalidState, "Cannot update schema while connected"))
        case .inUse:
            .failure(
                PowerSyncError(.invalidState, "Cannot delete a database that another instance has open"))
        case .failed(let error): .failure(error)
        }
    }
}
