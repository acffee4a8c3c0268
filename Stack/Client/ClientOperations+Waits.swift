import PowerSync

/// What a client can wait for.
extension ClientOperations {
    /// The queue is empty, and no local write waits for its write checkpoint (client-core 8.3).
    ///
    /// A local write sets the target to its greatest value and removes what was applied. After the upload the target is the
    /// id of a write checkpoint; the checkpoint that carries this id, or a later one, is noted as applied in the very
    /// transaction that writes its rows. So what was written here has come back as soon as the target is not above that.
    private static let isUploaded = """
        SELECT NOT EXISTS (SELECT 1 FROM ps_crud)
            AND ifnull((SELECT CAST(value AS INTEGER) FROM ps_kv WHERE key = 'target_checkpoint_request_id'), 0)
            <= ifnull(
                (SELECT CAST(value AS INTEGER) FROM ps_kv WHERE key = 'last_applied_checkpoint_request_id'), 0)
        """
    private static let isQueueEmpty = "SELECT NOT EXISTS (SELECT 1 FROM ps_crud)"

    /// Waits for a state.
    ///
    /// - Parameters:
    ///   - condition: the state.
    ///   - timeout: how long at most, in seconds; nil for ever, and 0 for a question that is asked once, however long
    ///   the answer takes.
    ///   - begin: waits for what must be over before anything is looked at; that counts as waiting, too.
    /// - Throws: `PowerSyncError`, with the code `timedOut` when the time is over; `ClientError` for what nobody here can
    ///   find out; `CancellationError`.
    func wait(
        for condition: ClientRequest.Condition, timeout: Double?,
        after begin: @escaping @Sendable () async throws -> Void = {}
    ) async throws {
        if timeout == 0 {
            try await begin()
            guard try await holds(condition) else {
                throw ClientError("The time is over: \(condition.name) is not so yet", code: .timedOut)
            }
            return
        }
        do {
            // The wait looks itself, behind what came before.
            try await database.limited(to: timeout, waitingFor: condition.name, unless: { false }) {
                try await begin()
                try await wait(for: condition, hasLimit: timeout != nil)
            }
        } catch let error as PowerSyncError where error.code == .timedOut {
            guard case .upToDate = condition, checkpoints.isSyncedElsewhere else { throw error }
            throw ClientError("The time is over: \(Self.elsewhere)", code: .timedOut)
        }
    }

    private static let elsewhere =
        "another process syncs this file, and what it still lacks is not known here; this one takes over when that ends"

    /// Returns whether a state has come, without waiting for it.
    private func holds(_ condition: ClientRequest.Condition) async throws -> Bool {
        switch condition {
        case .firstSync: return hasSynced(try await status())
        case .stream(let stream): return hasSynced(stream, try await status())
        case .queueEmpty: return try await isTrue(Self.isQueueEmpty)
        case .upToDate: return try await isUpToDate(orTakesOver: false)
        case .attachments: return try await isTrue(try requiredAttachments().isSettled)
        }
    }

    private func wait(for condition: ClientRequest.Condition, hasLimit: Bool) async throws {
        switch condition {
        case .firstSync: try await waitForStatus { hasSynced($0) }
        case .stream(let stream): try await waitForStatus { hasSynced(stream, $0) }
        case .queueEmpty: try await waitForQuery(Self.isQueueEmpty)
        case .upToDate: try await waitUntilUpToDate(orTakesOver: hasLimit)
        case .attachments: try await waitForQuery(try requiredAttachments().isSettled)
        }
    }

    private func hasSynced(_ status: any SyncStatusData) -> Bool { status.hasSynced == true }

    private func hasSynced(_ stream: ClientStream, _ status: any SyncStatusData) -> Bool {
        status.forStream(stream: reference(stream))?.subscription.hasSynced == true
    }

    private func waitForStatus(_ condition: (any SyncStatusData) -> Bool) async throws {
        for await status in database.currentStatus.asFlow() where condition(status) { return }
        throw CancellationError()
    }

    /// Returns what a query of one truth value yields.
    private func isTrue(_ sql: String) async throws -> Bool {
        try await database.get(sql) { try $0.getBoolean(index: 0) }
    }

    /// Waits until a query yields true.
    private func waitForQuery(_ sql: String) async throws {
        for try await rows in try watch(sql) where rows == [true] { return }
        throw CancellationError()
    }

    /// Watches a query of one truth value without a pause between results.
    private func watch(_ sql: String) throws -> AsyncThrowingStream<[Bool], any Error> {
        try database.watch(
            options: WatchOptions(sql: sql, throttle: 0, mapper: { try $0.getBoolean(index: 0) }))
    }

    /// Waits until nothing is left to upload, the open stream has brought a checkpoint, and all that it announced is
    /// applied, what was written here included.
    ///
    /// Looked at after each state of syncing and each change of the queue or the target.
    private func waitUntilUpToDate(orTakesOver: Bool) async throws {
        let (signs, sign) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                // Without signs nobody would look any more: whatever ends them ends the wait.
                defer { sign.finish() }
                for try await _ in try watch(Self.isUploaded) { sign.yield() }
            }
            group.addTask {
                for await _ in checkpoints.signs() { sign.yield() }
            }
            defer { group.cancelAll() }
            for await _ in signs {
                if try await isUpToDate(orTakesOver: orTakesOver) { return }
            }
            // What ended the signs: an error of the database, which the group throws, or the end of this task.
            group.cancelAll()
            try await group.waitForAll()
            throw CancellationError()
        }
    }

    /// Returns whether nothing is missing at this moment.
    ///
    /// The stream is asked about before and after the database: a checkpoint that is announced in between is not
    /// missed. What the service knows and has not announced nobody here can know.
    ///
    /// - Parameter orTakesOver: whether it is worth waiting for the end of another process that has the stream.
    /// - Returns: whether it is so.
    /// - Throws: `ClientError` while another process has the stream, unless that is so; what the SDK throws.
    private func isUpToDate(orTakesOver: Bool) async throws -> Bool {
        guard !checkpoints.isSyncedElsewhere else {
            // Without a limit of time it might be for ever.
            if orTakesOver { return false }
            throw ClientError(Self.elsewhere, code: .invalidState)
        }
        guard checkpoints.isCurrent else { return false }
        let isUploaded = try await isTrue(Self.isUploaded)
        return isUploaded && checkpoints.isCurrent
    }
}
