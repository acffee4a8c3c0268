import PowerSyncSystem

/// The calls of the app's connector: each is a child of the loop, which can so wait for it and let it go.
extension DatabaseGroup {
    /// Runs a callback of the connector once nothing is in its way, and waits for what it returns.
    ///
    /// A caller that is cancelled goes at once; the callback is cancelled and waited for by the loop. So does one that is no
    /// part of syncing when that is to end, and one that calls while nothing syncs, or another connection than its own.
    ///
    /// - Parameters:
    ///   - kind: which callback it is.
    ///   - database: the instance that syncs.
    ///   - connection: the wish to connect that has brought the connector.
    ///   - body: the callback.
    /// - Returns: what it returns.
    /// - Throws: what it throws; `CancellationError` when the caller is cancelled; else ``SyncStopped`` when syncing ends.
    func call<Value: Sendable>(
        _ kind: ConnectorCall.Kind, of database: LocalDatabase, in connection: Int,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let call = ConnectorCall(
            kind, id: loop.withLock { $0.nextID() }, group: self, environment: database.environment,
            logger: database.logger)
        let answer = ConnectorAnswer<Value>()
        let running = RunningCall(
            call: call,
            body: {
                do {
                    answer.give(.success(try await body()))
                } catch {
                    answer.give(.failure(error))
                }
            },
            leave: { answer.give(.failure(SyncStopped())) })
        return try await withTaskCancellationHandler {
            try await withThrowingResumption {
                (continuation: Resumption<Value, any Error>) in
                var isWaiting = false
                let event = LifecycleEvent.called(
                    call.id, kind, instance: database.number, connection: connection)
                post(event) { loop in
                    isWaiting = answer.wait(continuation)
                    if isWaiting { loop.calls[call.id] = running }
                    return isWaiting
                }
                if !isWaiting { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            call.cancel()
            answer.give(.failure(CancellationError()))
            // Out of the lock: the connector may go with it.
            _ = loop.withLock { loop in
                loop.calls[call.id]?.isStarted == false ? loop.calls.removeValue(forKey: call.id) : nil
            }
        }
    }

    /// Begins a call as a child of the loop.
    func startCall(_ id: Int, in tasks: inout DiscardingTaskGroup) {
        let found = loop.withLock { loop -> RunningCall? in
            loop.calls[id]?.isStarted = true
            return loop.calls[id]
        }
        // Whoever called may have gone meanwhile.
        guard let started = found else { return post(.callEnded(id)) }
        tasks.addTask {
            await withCancellation(by: started.call.cancellation) {
                if started.call.isCancelled { return }
                await ConnectorCall.$current.withValue(started.call) { await started.body() }
            }
            _ = self.loop.withLock { $0.calls.removeValue(forKey: id) }
            self.post(.callEnded(id))
        }
    }

    /// Cancels a call, whoever has called, and lets that one go.
    func cancelCall(_ id: Int) {
        let found = loop.withLock { loop -> RunningCall? in
            // One that has begun is let go of at its end.
            loop.calls[id]?.isStarted == false ? loop.calls.removeValue(forKey: id) : loop.calls[id]
        }
        // Whoever called may have gone meanwhile, or the call be over.
        guard let found else { return }
        found.leave()
        found.call.cancel()
    }

    /// Whether something syncs here, and is to go on.
    var isSyncing: Bool { loop.withLock { $0.reducer.isSyncing } }

    /// What syncs here; nil while nothing does.
    var coordinator: SyncCoordinator? {
        loop.withLock { $0.reducer.isSyncing ? $0.sync?.coordinator : nil }
    }

    /// Says that the upload queue may have something to do.
    func triggerUpload() {
        loop.withLock { $0.sync }?.coordinator.triggerUpload()
    }

    /// Says that the app holds other streams than before; returns whether anybody listens.
    func subscriptionsChanged() -> Bool {
        let (sync, isSyncing) = loop.withLock { ($0.sync, $0.reducer.isSyncing) }
        guard isSyncing else { return false }
        sync?.coordinator.subscriptionsChanged()
        return true
    }
}
