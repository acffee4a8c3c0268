import PowerSyncSystem

/// Transfers files from `startSync` to `stopSync`: does what a ``TransferPlan`` decides.
final class TransferRun: Sendable {
    private struct State {
        var plan: TransferPlan
        /// The tasks of the transfers, by the ids of the attachments.
        var transfers: [String: UInt64] = [:]
    }

    /// What somebody who waits for a pass has to know.
    private struct Passes: Sendable {
        var over = 0
        /// Whether another process, or another queue, transfers the files; nil while that is not known.
        var areElsewhere: Bool?
        var areStopped = false
    }

    private let parts: TransferParts
    private let right: TransferRight
    private let tasks = AttachmentTasks()
    private let state: Lock<State>
    private let passes = AsyncValue(Passes())
    private let waitsForQueue = AsyncValue(false)
    /// Raised when there may be something to do.
    private let arrived = AsyncFlag()

    /// Makes a run that does nothing before ``begin(period:)``.
    ///
    /// - Parameters:
    ///   - parts: what it works with.
    ///   - right: the right to transfer the files of the table.
    ///   - mostAtOnce: how many files of a lane are transferred at once.
    ///   - throttle: the least time between the beginnings of two passes.
    init(_ parts: TransferParts, right: TransferRight, mostAtOnce: Int, throttle: Duration) {
        self.parts = parts
        self.right = right
        state = Lock(State(plan: TransferPlan(mostAtOnce: mostAtOnce, throttle: throttle)))
    }

    private var environment: SyncEnvironment { parts.environment }

    // MARK: Calls

    /// Begins, with a full pass now and one in each period.
    func begin(period: Duration) {
        change { $0.askForPass() }
        tasks.begin { [self] in
            claim()
            await transfer()
        }
        tasks.begin { [self] in await followRows() }
        tasks.begin { [self] in await followCounts() }
        tasks.begin { [self] in await followQueue() }
        if period > .zero { tasks.begin { [self] in await repeatPasses(each: period) } }
    }

    /// Asks for a full pass.
    func askForPass() { change { $0.askForPass() } }

    /// Asks for a full pass and waits for its end; also for that of the run, or until another process transfers.
    ///
    /// - Throws: `CancellationError`.
    func pass() async throws {
        let number = change { $0.askForPass() }
        _ = try await passes.wait { $0.over >= number || $0.areElsewhere == true || $0.areStopped }
    }

    /// Cancels what is under way; its rows may be gone.
    func cancelTransfers() {
        let transfers = state.withLock { Array($0.transfers.values) }
        for transfer in transfers { tasks.cancel(transfer) }
    }

    /// Ends the run at once: nothing of it changes a row from now on.
    func end() {
        tasks.end()
        right.release()
        parts.progress.stopped()
        passes.change { $0.areStopped = true }
    }

    /// Waits for the end of all tasks, but only for a moment.
    func wait() async {
        if await tasks.wait(environment) { return }
        parts.logger.debug(
            "Transfers were left that do not end when they are cancelled", tag: LogTag.attachmentSync)
    }

    /// How many wait for the end of a pass.
    var waiterCount: Int { passes.waiterCount }

    /// How many rows are held in memory.
    var heldRows: Int { state.withLock { $0.plan.heldRows } }

    // MARK: The right to transfer

    private func claim() {
        right.claim(environment, logger: parts.logger) { [weak self] in self?.noteRight() }
        noteRight()
        // Whoever has ended the run meanwhile has found nothing to release.
        if tasks.isOver { right.release() }
    }

    /// Notes whether the files are transferred here.
    private func noteRight() {
        let isOurs = state.withLock { state in
            // Read under the lock: of two who note it the later one has the newer answer.
            let isOurs = right.isOurs
            state.plan.setMayTransfer(isOurs)
            passes.change { $0.areElsewhere = !isOurs }
            return isOurs
        }
        if !isOurs { cancelTransfers() }
        arrived.raise()
    }

    // MARK: What makes it look

    private func watch(_ name: String) -> PersistentWatch {
        PersistentWatch(
            name: name, environment: environment, logger: parts.logger, tag: LogTag.attachmentSync)
    }

    private func followRows() async {
        let watch = watch("the rows of attachments")
        let service = parts.service
        guard let own = service as? AttachmentService else {
            await watch.follow {
                try await service.watchActiveAttachments()
            } take: { (_: [String]) in
                change { $0.rowsChanged() }
                return true
            }
            return
        }
        await watch.follow {
            try own.watchChanges()
        } take: { (_: [Int]) in
            change { $0.rowsChanged() }
            return true
        }
    }

    private func followCounts() async {
        let (service, progress) = (parts.service, parts.progress)
        await watch("the number of waiting attachments").follow {
            let (db, sql) = try await service.withContext { ($0.db, $0.rows.sql) }
            let throttle = AttachmentProgress.interval / .seconds(1)
            let options = WatchOptions(sql: sql.waiting, throttle: throttle) {
                WaitingFiles(
                    state: try $0.getInt(index: 0), files: try $0.getInt(index: 1),
                    bytes: try $0.getInt64(index: 2))
            }
            return try db.watch(options: options)
        } take: { (rows: [WaitingFiles]) in
            progress.count(rows)
            return true
        }
    }

    /// Waits for the upload queue to be empty, whenever a row waits for that.
    private func followQueue() async {
        let service = parts.service
        // Only cancellation ends the wait.
        while (try? await waitsForQueue.wait { $0 }) != nil {
            let isEmpty = await watch("the upload queue").follow {
                let db = try await service.withContext { $0.db }
                return try db.watch(AttachmentSQL.hasQueuedWrites) { try $0.getBoolean(index: 0) }
            } take: { (found: [Bool]) in
                if found.first == true { return true }
                change { $0.queueEmptied() }
                return false
            }
            // Closed with the database: nothing changes any more.
            guard isEmpty else { return }
        }
    }

    private func repeatPasses(each period: Duration) async {
        // Only cancellation ends the wait.
        while (try? await environment.sleep(period)) != nil { askForPass() }
    }

    // MARK: The loop

    /// Changes the plan, and lets the loop look at it.
    @discardableResult
    private func change<Result>(_ body: (inout TransferPlan) -> Result) -> Result {
        let result = state.withLock { state in
            let result = body(&state.plan)
            // Under the lock: of two who say it the later one has the newer answer.
            let waits = state.plan.waitsForQueue
            waitsForQueue.change { $0 = waits }
            return result
        }
        arrived.raise()
        return result
    }

    /// Does what there is to do until the task is cancelled.
    private func transfer() async {
        while !tasks.isOver {
            let now = environment.uptime()
            let (steps, moment, over) = state.withLock { state in
                (state.plan.steps(at: now), state.plan.passMoment, state.plan.passesOver)
            }
            passes.change { $0.over = over }
            for step in steps { await perform(step) }
            if !steps.isEmpty { continue }
            do {
                guard let moment else {
                    try await arrived.wait()
                    continue
                }
                try await wait(until: moment)
            } catch {
                // Cancelled.
                return
            }
        }
    }

    /// Waits for something to happen, but no longer than until a moment.
    private func wait(until moment: Duration) async throws {
        let rest = moment - environment.uptime()
        guard rest > .zero else { return }
        try await withThrowingTaskGroup(of: Void.self) { [arrived, environment] group in
            group.addTask { try await arrived.wait() }
            group.addTask { try await environment.sleep(rest) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func perform(_ step: TransferPlan.Step) async {
        switch step {
        case .restart(let lane): parts.progress.restarted(lane)
        case .read(let lane, let place): await read(lane, behind: place)
        case .look(let id): await look(id)
        case .begin(let row): begin(row)
        case .cancel(let id):
            if let task = state.withLock({ $0.transfers[id] }) { tasks.cancel(task) }
        case .expire: tasks.begin { [self] in await expire() }
        }
    }

    private func read(_ lane: TransferLane, behind place: TransferPlace?) async {
        var rows: [TransferRow]?
        do {
            rows = try await parts.service.withContext {
                try await $0.rows.page(of: lane, behind: place, limit: TransferPlan.pageSize)
            }
        } catch {
            report("Reading the rows of attachments failed", error)
        }
        change { $0.didRead(rows, of: lane) }
    }

    private func look(_ id: String) async {
        var row: Attachment?
        do {
            row = try await parts.service.withContext { try await $0.rows.row(id) }
        } catch {
            report("Reading a row of attachments failed", error)
        }
        let found = row.flatMap { row in
            TransferLane(row.state).map { TransferRow(id: row.id, timestamp: row.timestamp, lane: $0) }
        }
        change { $0.didLook(found) }
    }

    private func begin(_ row: TransferRow) {
        let transfer = FileTransfer(row: row, parts: parts, tasks: tasks)
        // In one step, so that the end of the task finds it.
        state.withLock { state in
            state.transfers[row.id] = tasks.begin { [self] in
                let outcome = await transfer.perform()
                ended(row.id, outcome)
            }
        }
    }

    private func ended(_ id: String, _ outcome: TransferPlan.Outcome) {
        state.withLock { $0.transfers[id] = nil }
        change { $0.ended(id, outcome) }
    }

    /// Removes what is beyond the limit of the cache.
    private func expire() async {
        do {
            let local = parts.local
            while !tasks.isOver {
                if try await parts.service.withContext(callback: { try await $0.expire(local) }) { break }
            }
        } catch {
            report("Removing files that are not needed failed", error)
        }
        change { $0.didExpire() }
    }

    private func report(_ text: String, _ error: any Error) {
        // What ends with the run, or with the database, is no failure.
        if tasks.isOver || (error as? PowerSyncError)?.code == .closed { return }
        parts.logger.warning("\(text): \(error)", tag: LogTag.attachmentSync)
    }
}

extension AttachmentContextProtocol {
    /// Removes a page of the archived rows that are too many, after their files; returns whether it was the last one.
    func expire(_ local: LocalFiles) async throws -> Bool {
        let rows = rows
        return try await deleteArchivedAttachments { attachments in
            for attachment in attachments { try await local.remove(attachment, rows) }
        }
    }
}
