import CPowerSyncLossyFiles
import PowerSyncCommandLine
import PowerSyncPostgresValues
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncSystem

@testable import PowerSyncServiceEngine

/// A process that replicates a script into a state as the service does, and is killed meanwhile: for exit tests.
enum StoreChild {
    /// What such a process is to do.
    struct Plan: Codable, Sendable {
        /// Where the state and the journal lie.
        var folder: String
        /// What the script is drawn by, the same for all processes of a state.
        var seed: Int
        /// What is drawn by in this process: which writes go to the system before they are synced.
        var draw: UInt64
        /// How many of a hundred do; nil for the files of the system, on which all do.
        var percentThrough: Int?
        /// Whether syncing does anything; on the files of the system it does.
        var isSyncing = true
        /// Behind what the end is near.
        var moment: StoreMoments.Moment
        /// The how manieth time.
        var count = 1
        /// How long after that it comes.
        var delay: Duration
        /// Whether there is another configuration than before: the one that is being built, unless it is to begin.
        var isRedeployed = false

        var state: String { folder + "/state.db" }
        var journal: String { folder + "/journal" }
        var script: StoreScript { StoreScript(seed: seed, hasAll: true) }
    }

    /// How long the source rests between two commits.
    private static let pause = Duration.milliseconds(2)
    /// Behind so many commits it rests until upkeep has nothing left to do, as at night: while more comes all the time, a new
    /// configuration hardly takes the place of another, and upkeep never comes to what it does last.
    private static let commitsOfADay = 32
    /// How long such a rest takes at the most.
    private static let longestRest = Duration.seconds(10)

    /// Goes on until it is killed.
    static func run(_ plan: Plan) async throws {
        try await StoreJournal.keepingErrors(beside: plan.journal) { try await work(plan) }
    }

    private static func work(_ plan: Plan) async throws {
        if let percent = plan.percentThrough {
            let result = powersync_lossy_files_register(plan.draw, Int32(percent), plan.isSyncing)
            guard result == 0 else {
                throw StoreSession.Failure(description: "SQLite refuses the files: \(result)")
            }
        }
        let committed = try StoreJournal.content(of: plan.journal).committed
        let journal = try StoreJournal(path: plan.journal)
        let moments = StoreMoments(
            killedBehind: plan.moment, count: plan.count, delay: plan.delay, journal)
        try moments.note(.opening)
        let poller = try Poller()
        let source = ScriptedSource(plan.script, committed: committed)
        let store = try await ServiceStore.open(path: plan.state, limits: StoreSession.limits)
        let publisher = Publisher()
        let frames = FrameStore(
            limit: StoreSession.limits.keptFrameBytes,
            lines: LineBudget(limit: StoreSession.limits.readFrameBytes)
        ) { try await store.frame($0) }
        let former = try await store.activeStream()
        let name = try await name(of: plan, former, store)
        let changes: any ChangeSource = ScriptedChanges(
            source: source, journal: journal, moments: moments, poller: poller)
        let log = Log(label: "child", level: .error) { _ in }
        let health = ServiceHealth(liveness: .seconds(60))
        func work(_ name: String, former: StreamNumber?) throws -> ReplicationWork {
            let text = StoreScript.config(named: name)
            return ReplicationWork(
                plan: try SyncPlan.compiled(text), configText: text, configHash: name, formerStream: former,
                store: store, publisher: publisher, frames: frames, metrics: ServiceMetrics(),
                health: health.link(name), log: log, warnings: RowWarningLog(log))
        }
        var deployed = [try work(name, former: nil)]
        if let former, former.configHash != name {
            deployed.append(try work(former.configHash, former: former.number))
        }
        if let active = try await store.deploy(configHash: name) {
            publisher.publish(
                DurableCommit(
                    served: ServedPlan(
                        stream: active.number, plan: try SyncPlan.compiled(active.config)),
                    checkpoint: active.checkpoint, changed: .any, lookups: .any))
        }
        let emptied = Lock(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            for work in deployed { group.addTask { try await changes.replicate(work) } }
            group.addTask { try await keepUp(store, publisher, moments, emptied, poller) }
            group.addTask { try await follow(publisher, journal) }
            group.addTask {
                try await CrashStream(
                    store: store, publisher: publisher, frames: frames, journal: journal
                ).run()
            }
            group.addTask {
                try await commit(source, changes, store, publisher, journal, emptied, poller)
            }
            for try await _ in group {}
        }
    }

    /// What the configuration of this process calls its stream.
    private static func name(
        of plan: Plan, _ former: StreamRecord?, _ store: ServiceStore
    ) async throws -> String {
        guard plan.isRedeployed else { return former?.configHash ?? StoreScript.names[0] }
        var building: String?
        for name in StoreScript.names where name != former?.configHash {
            if try await store.stream(configHash: name) != nil { building = name }
        }
        let isFresh = [.piece, .read].contains(plan.moment)
        if let building, !isFresh { return building }
        return StoreScript.names.first { $0 != former?.configHash && $0 != building } ?? ""
    }

    /// Commits one transaction after the other; now and then a client asks for a write checkpoint.
    private static func commit(
        _ source: ScriptedSource, _ changes: any ChangeSource, _ store: ServiceStore,
        _ publisher: Publisher, _ journal: StoreJournal, _ emptied: Lock<Int>, _ poller: Poller
    ) async throws {
        while true {
            let number = source.commit(journal)
            if number.isMultiple(of: 5) {
                let stored = try await store.nextWriteCheckpoint(
                    key: StoreSession.writeCheckpointKey, head: try await changes.head(),
                    published: publisher.current?.checkpoint.lsn ?? .zero)
                journal.given(stored.id)
            }
            try await poller.sleep(until: .now + pause)
            if number.isMultiple(of: commitsOfADay) { try await rest(store, emptied, poller) }
        }
    }

    /// Returns once the log has been emptied three times, and nothing was written in between.
    private static func rest(
        _ store: ServiceStore, _ emptied: Lock<Int>, _ poller: Poller
    ) async throws {
        let end = ContinuousClock.now + longestRest
        var (writes, since) = (store.activity.writes, emptied.withLock { $0 })
        while .now < end, emptied.withLock({ $0 }) < since + 3 {
            try await poller.sleep(until: .now + pause)
            guard store.activity.writes != writes else { continue }
            (writes, since) = (store.activity.writes, emptied.withLock { $0 })
        }
    }

    /// Keeps the state small beside all else, as the service does, and says with what; counts how often the log was emptied.
    private static func keepUp(
        _ store: ServiceStore, _ publisher: Publisher, _ moments: StoreMoments, _ emptied: Lock<Int>,
        _ poller: Poller
    ) async throws {
        let upkeep = StoreUpkeep(
            store, clock: .system(poller), log: Log(label: "upkeep", level: .error),
            served: { publisher.current?.stream })
        while true {
            switch try await upkeep.step() {
            case .removed: try moments.note(.removed)
            case .merged: try moments.note(.merged)
            case .vacuumed: try moments.note(.vacuumed)
            case .looked, .trimmed: break
            case .nothing:
                if try await store.pool.truncateLog() {
                    try moments.note(.emptied)
                    emptied.withLock { $0 += 1 }
                }
                try await poller.sleep(until: .now + .milliseconds(5))
                continue
            case .busy:
                try await poller.sleep(until: .now + .milliseconds(1))
                continue
            }
            try await store.pool.shortenLog()
        }
    }

    /// Says what clients are shown.
    private static func follow(_ publisher: Publisher, _ journal: StoreJournal) async throws {
        var sequence: UInt64 = 0
        var shown = (stream: StreamNumber(0), checkpoint: StoredCheckpoint(operation: 0, lsn: .zero))
        while true {
            let publication = try await publisher.next(after: sequence)
            sequence = publication.sequence
            let now = (stream: publication.stream, checkpoint: publication.checkpoint)
            if now != shown { journal.shown(now.checkpoint, of: now.stream) }
            shown = now
        }
    }
}
