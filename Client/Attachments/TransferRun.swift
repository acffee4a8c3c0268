import PowerSyncSystem

/// Transfers files from `startSync` to `stopSync`: does what a ``TransferPlan`` decides.
final class TransferRun: Sendable {
    private struct State {
        var plan: TransferPlan
        /// The tasks of the transfers, by the ids of the attachments.
        var transfers: [String: UInt64] = [:]
        /// The rows that earlier runs have left under way.
        var left: Set<String> = []
        /// Whether another one had the right when that was noted last.
        var wasElsewhere = false
        /// Whether the cache could not be brought within its limit when that was tried last.
        var hasFailedToExpire = false
    }

    /// What somebody who waits for a pass has to know.
    private struct Passes: Sendable {
        var over = 0
        /// Whether another process, or another queue, transfers the files; nil while that is not known.
        var areElsewhere: Bool?
        var areStopped = false
        /// The last pass in which the rows of a lane could not be read, and why.
        var failure: (pass: Int, error: any Error)?
    }

    let parts: TransferParts
    private let right: TransferRight
    private let underWay: TransfersUnderWay
    private let tasks: AttachmentTasks
    private let finished: FinishedTransfers
    private let state: Lock<State>
    private let passes = AsyncValue(Passes())
    let waitsForQueue = AsyncValue(false)
    /// Raised when there may be something to do.
    private let arrived = AsyncFlag()

    /// Makes a run that does nothing before ``begin(period:)``.
    ///
    /// - Parameters:
    ///   - parts: what it works with.
    ///   - right: the right to transfer the files of the table.
    ///   - underWay: the transfers of all runs of the table.
    ///   - mostAtOnce: how many files of a lane are transferred at once.
    ///   - throttle: the least time between the beginnings of two passes.
    init(
        _ parts: TransferParts, right: TransferRight, underWay: TransfersUnderWay, mostAtOnce: Int,
        throttle: Duration
    ) {
        let tasks = AttachmentTasks()
        self.parts = parts
        self.tasks = tasks
        finished = FinishedTransfers(parts, tasks)
        self.right = right
        self.underWay = underWay
        state = Lock(State(plan: TransferPlan(mostAtOnce: mostAtOnce, throttle: throttle)))
    }

    deinit { underWay.leave(ObjectIdentifier(self)) }

    var environment: SyncEnvironment { parts.environment }

    // MARK: Calls

    /// Begins, with a full pass now and one in each period.
    ///
    /// - Returns: the number of that first pass, for ``wait(forPass:)``.
    @discardableResult
    func begin(period: Duration) -> Int {
        // Under the lock, so that an end that is told at once finds what it belongs to.
        state.withLock { state in
            underWay.follow(ObjectIdentifier(self)) { [weak self] in self?.endedElsewhere($0) }
            leave(in: &state)
        }
        let first = askForPass()
        tasks.begin { [self] in
            claim()
            await transfer()
        }
        tasks.begin { [self] in await followRows() }
        tasks.begin { [self] in await followCounts() }
        tasks.begin { [self] in await followQueue() }
        if period > .zero { tasks.begin { [self] in await repeatPasses(each: period) } }
        return first
    }

    /// Asks for a full pass, and returns its number, for ``wait(forPass:)``.
    @discardableResult
    func askForPass() -> Int { change { $0.askForPass() } }

    /// Waits for the end of a full pass; also for that of the run, or until another process transfers.
    ///
    /// - Returns: whether it did not end with the run.
    /// - Throws: what the database has thrown where rows were to be read in the pass; `CancellationError`.
    func wait(forPass number: Int) async throws -> Bool {
        let passes = try await passes.wait {
            $0.over >= number || $0.areElsewhere == true || $0.areStopped
        }
        if passes.over >= number, let failure = passes.failure, failure.pass >= number { throw failure.error }
        return passes.over >= number || passes.areElsewhere == true
    }

    /// Cancels what is under way.
    private func cancelTransfers() {
        let transfers = state.withLock { Array($0.transfers.values) }
        for transfer in transfers { tasks.cancel(transfer) }
    }

    /// Ends the run at once: nothing of it changes a row from now on.
    func end() {
        tasks.end()
        parts.progress.stopped()
        passes.change { $0.areStopped = true }
    }

    /// Gives the right to transfer up; to be called once ``wait()`` has returned, so that nobody else begins before.
    func release() { right.release() }

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
        let (isOurs, wasElsewhere) = state.withLock { state in
            // Read under the lock: of two who note it the later one has the newer answer.
            let isOurs = right.isOurs
            let wasElsewhere = state.wasElsewhere
            state.wasElsewhere = !isOurs
            // Whoever had it may have left transfers that hang.
            if isOurs { leave(in: &state) }
            state.plan.setMayTransfer(isOurs)
            passes.change { $0.areElsewhere = !isOurs }
            return (isOurs, wasElsewhere)
        }
        if !isOurs { cancelTransfers() }
        // Whoever had it may have ended between a file and its row.
        if isOurs, wasElsewhere { tasks.begin { [self] in await verify() } }
        arrived.raise()
    }

    private func verify() async {
        do {
            try await AttachmentVerification(service: parts.service, local: parts.local).run()
        } catch {
            report("Looking for the files of attachments failed", error)
        }
    }

    // MARK: The loop

    /// Changes the plan, and lets the loop look at it.
    @discardableResult
    func change<Result>(_ body: (inout TransferPlan) -> Result) -> Result {
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
                (state.plan.steps(at: now), state.plan.moment, state.plan.passesOver)
            }
            passes.change { $0.over = over }
            for step in steps { await perform(step) }
            await look(for: TransferWish(steps))
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
        // These are read together, behind all others.
        case .read, .inspect: break
        case .look(let id): await look(id)
        case .begin(let row): begin(row)
        case .cancel(let id):
            if let task = state.withLock({ $0.transfers[id] }) { tasks.cancel(task) }
        case .expire: tasks.begin { [self] in await expire() }
        }
    }

    /// Reads the next rows of lanes, and whether rows under way still wait for what is done with them.
    private func look(for wish: TransferWish) async {
        guard !wish.isEmpty else { return }
        var findings: TransferFindings?
        var failure: (any Error)?
        do {
            findings = try await parts.service.withContext { try await $0.rows.look(for: wish) }
            failure = findings?.failure
        } catch {
            failure = error
        }
        if let failure {
            report("Reading the rows of attachments failed", failure)
            let unread = wish.pages.indices.filter { findings?.pages[$0] == nil }.map { wish.pages[$0].lane }
            let pass = state.withLock { state in unread.map { state.plan.pass(of: $0) }.max() }
            if let pass { passes.change { $0.failure = (pass, failure) } }
        }
        change { [findings] plan in
            for (index, page) in wish.pages.enumerated() {
                let found = findings?.pages[index]
                plan.didRead(found?.rows, of: page.lane, last: found?.last)
            }
            if !wish.ids.isEmpty { plan.didInspect(findings?.lanes, of: wish.ids) }
        }
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
        let transfer = FileTransfer(row: row, parts: parts, tasks: tasks, finished: finished)
        underWay.begin(row.id)
        // In one step, so that the end of the task finds it.
        let task = state.withLock { state in
            let task = tasks.begin { [self] in
                let outcome = await transfer.perform()
                underWay.end(row.id)
                ended(row.id, outcome)
            }
            state.transfers[row.id] = task
            return task
        }
        // The run is over.
        if task == nil { underWay.end(row.id) }
    }

    /// Leaves the rows alone that others have left under way.
    private func leave(in state: inout State) {
        let others = underWay.ids.subtracting(state.plan.underWay)
        state.left.formUnion(others)
        state.plan.leave(others)
    }

    /// Takes the end of a transfer that an earlier run has left.
    private func endedElsewhere(_ id: String) {
        let wasLeft = state.withLock { $0.left.remove(id) != nil }
        if wasLeft { change { $0.ended(id, .over) } }
    }

    private func ended(_ id: String, _ outcome: TransferPlan.Outcome) {
        state.withLock { $0.transfers[id] = nil }
        change { $0.ended(id, outcome) }
    }

    /// Removes what is beyond the limit of the cache.
    private func expire() async {
        var failure: (any Error)?
        do {
            failure = try await AttachmentExpiry(service: parts.service, local: parts.local)
                .run(unless: { tasks.isOver }).first
        } catch {
            failure = error
        }
        let isNew = state.withLock { state in
            defer { state.hasFailedToExpire = failure != nil }
            return !state.hasFailedToExpire
        }
        // Once, and not after each change of the rows.
        if let failure, isNew { report("Removing files that are not needed failed", failure) }
        change { $0.didExpire() }
    }

    private func report(_ text: String, _ error: any Error) {
        // What ends with the run, or with the database, is no failure.
        if tasks.isOver || (error as? PowerSyncError)?.code == .closed { return }
        parts.logger.warning("\(text): \(error)", tag: LogTag.attachmentSync)
    }
}
