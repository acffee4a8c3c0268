import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport

@testable import PowerSync

/// The steps of a session.
extension CoordinatorSession {
    private enum Step { case service, compact, toggle, write, network, answer, time, cut, stop, streams }

    /// Runs random steps, then lets everything come to rest, where nothing happens any more.
    func run() throws {
        try start()
        for _ in 0..<(80 + random.below(80)) {
            step += 1
            if running == nil, !random.once(in: 4) { try start() }
            try perform(
                random.pick(weighted: [
                    (6, .service), (2, .compact), (1, .toggle), (4, .write), (28, .network), (22, .answer),
                    (14, .time), (1, .cut), (1, .stop), (1, .streams),
                ]))
        }
        try comeToRest()
        try stop()
        let integrity = try reader.one("PRAGMA integrity_check") { $0.string(0) } ?? ""
        try require(integrity == "ok", integrity)
        if shown.log.contains(where: { $0.hasPrefix("Applied pending checkpoint") }) { meet(.pendingApplied) }
    }

    /// Lets go of the database, whatever became of the session.
    func end() {
        executor.end()
        reader.close()
    }

    private func perform(_ step: Step) throws {
        switch step {
        case .service:
            service.changeRows(&random) { random in
                random.once(in: 4)
                    ? random.pick(["drafts", "unheard-of", ClientModel.rawType, ClientModel.rawType])
                    : random.pick(ModelRow.tables)
            }
        case .compact:
            service.compact(random.below(service.buckets.count), clears: !random.once(in: 3))
        case .toggle: service.toggle(random.below(service.buckets.count))
        case .write: try write()
        case .network:
            try serve()
            if !random.once(in: 3) { try serve() }
            if !random.once(in: 4) {
                try receive(random.once(in: 3) ? 1 + random.below(40) : 1 + random.below(2000))
            }
        case .answer: _ = try answerACall()
        case .time: try passTime()
        case .cut: try cut()
        case .stop: try stop()
        case .streams: try changeStreams()
        }
    }

    // MARK: The app

    func start() throws {
        var options = SyncOptions()
        options.userAgent = "test"
        options.prefersBinaryLines = isBinary
        options.start.checkpointMode = usesRequests ? .requests : .legacy
        var environment = clock.environment
        environment.executor = executor
        environment.batchPause = { [sleep = environment.sleep] in try await sleep(.milliseconds(10)) }
        let stored = try SyncStore(connection: reader, now: now).offlineStatus()
        let status = SharedStatus(SyncStatusSnapshot(iteration: stored))
        status.observe(includingCurrent: false) { [shown] snapshot in
            if let snapshot { shown.add(snapshot) }
        }
        let coordinator = SyncCoordinator(
            database: SyncDatabase(pool: pool, environment: environment), backend: backend(),
            transport: transport, options: options, status: SyncStatusHub(of: status),
            activeStreams: { [active] in active.withLock { $0 }.map(\.stream) }, environment: environment,
            log: { [shown] _, line in shown.add(line) })
        let isOver = Lock(false)
        try act("start", .begins) {
            let task = Task(executorPreference: executor) {
                await coordinator.run()
                isOver.withLock { $0 = true }
            }
            running = Running(coordinator: coordinator, task: task, isOver: isOver)
        }
    }

    private func backend() -> SyncBackend {
        SyncBackend(
            fetchCredentials: { [fetches] in try await fetches.answer() },
            uploadData: { [uploads, pool] in
                guard case .complete(let last, let id) = try await uploads.answer() else { return }
                try await pool.write { connection in
                    try ConnectionLease.lend(connection) { context in
                        try TransactionContext.run(on: context) {
                            try CrudQueue.complete(
                                through: last, writeCheckpoint: id.map(String.init), in: $0)
                        }
                    }.get(loggingTo: DefaultLogger(minSeverity: .error))
                }
            })
    }

    func stop() throws {
        guard let running else { return }
        if !uploads.all.isEmpty { meet(.stoppedInUpload) }
        self.running = nil
        try act("stop", shown.last.isActive ? .ends : .same) { running.task.cancel() }
        try require(running.isOver.withLock { $0 }, "syncing does not end")
    }

    /// A transaction of the app, which may be rolled back.
    private func write() throws {
        let statements = (0...random.below(4)).map { _ in LocalStatement.random(&random) }
        let isRolledBack = random.once(in: 6)
        var changed = model
        let queued = statements.map { changed.write($0) }
        if isRolledBack {
            meet(.rolledBack)
        } else {
            change { model in
                for statement in statements { _ = model.write(statement) }
                model.commit(queued.flatMap { $0 ?? [] })
            }
        }
        try act("write \(statements)\(isRolledBack ? ", roll back" : "")", .same) {
            let worked = try inDatabase { connection -> [Bool] in
                try connection.run("BEGIN IMMEDIATE")
                let worked = try statements.map { statement -> Bool in
                    do {
                        try connection.run(statement)
                        return true
                    } catch is SQLiteError {
                        return false
                    }
                }
                try connection.run(isRolledBack ? "ROLLBACK" : "COMMIT")
                return worked
            }
            try require(worked == queued.map { $0 != nil }, "\(statements) worked: \(worked)")
            running?.coordinator.triggerUpload()
        }
    }

    /// The app subscribes, or gives up, and holds other streams than before.
    private func changeStreams() throws {
        let key = Subscription.Key(
            name: ServiceModel.explicitStream, parameters: random.pick(ServiceModel.explicitParameters))
        let seconds = Int64(random.pick([0, 15, 3600]))
        let choice = random.below(3)
        let keys = ServiceModel.explicitParameters.filter { _ in random.once(in: 2) }.map {
            Subscription.Key(name: ServiceModel.explicitStream, parameters: $0)
        }
        let now = now
        change { model in
            if choice == 0 { model.subscribe(key, timeToLive: seconds, now: now) }
            if choice == 1 { model.unsubscribe(key) }
        }
        var course = Course.same
        if running != nil, model.isActive {
            possible = possible.map { states in
                var next = states[states.count - 1].model
                if next.subscriptionsChanged(active: keys, now: now) == .closed { course = .restarts }
                return [PossibleState(next)]
            }
        }
        try act("streams: \(choice) \(key) for \(seconds) s, held: \(keys)", course) {
            try inDatabase { connection in
                try connection.transaction {
                    let store = SyncStore(connection: connection, now: now)
                    if choice == 0 { try store.subscribe(key.stream, timeToLive: seconds) }
                    if choice == 1 { try store.unsubscribe(key.stream) }
                }
            }
            active.withLock { $0 = keys }
            running?.coordinator.subscriptionsChanged()
        }
    }

    // MARK: Time

    /// Lets the first who wait go on, or almost.
    func passTime() throws {
        guard let next = clock.waiting.first else { return }
        if !isCalm, next > .milliseconds(1), random.once(in: 4) {
            meet(.quietTime)
            try nothingHappens("a moment before \(next) are over") {
                clock.advance(by: next - .milliseconds(1))
            }
        } else {
            try act("\(next) later", .mayBegin) { clock.advance(by: next) }
        }
    }

    /// Does something that must have no effect at all.
    func nothingHappens(_ text: String, _ body: () throws -> Void) throws {
        func traces() -> [Int] {
            [
                fetches.count, uploads.count, transport.opens.count, transport.sends.count, shown.count,
                shown.log.count, wire?.asked ?? 0,
            ]
        }
        let before = traces()
        try act(text, .same, body)
        try require(traces() == before, "something happens: \(before) became \(traces())")
    }
}
