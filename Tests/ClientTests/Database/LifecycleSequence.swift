import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// One random sequence of calls on the instances of one file: from outside, from callbacks of the connector, from
/// mappers and from those who watch, all at the same time, while another process syncs the file now and then.
final class LifecycleSequence: Sendable {
    private enum Call: CaseIterable {
        case query, write, watch, follow, mapper, subscribe, checkpoint, join, joinWithSchema, leave, lock,
            unlock
        case connect, disconnect, clear, clearSoftly, updateSchema, close, delete

        /// Whether it goes through the queue of the file, and so never ends with a cancellation of the SDK's own.
        var isWish: Bool {
            switch self {
            case .query, .write, .watch, .follow, .mapper, .subscribe, .checkpoint, .join, .joinWithSchema,
                .leave, .lock, .unlock:
                false
            case .connect, .disconnect, .clear, .clearSoftly, .updateSchema, .close, .delete: true
            }
        }
    }

    private struct State {
        var random: SeededRandom
        var instances: [LocalDatabase] = []
        var tasks: [Task<Void, Never>] = []
        /// Those that ask for a checkpoint, which may take until syncing ends.
        var requests: [Task<Void, Never>] = []
        /// How many more calls are made.
        var left: Int
        var problems: [String] = []
        var isOver = false
    }

    private let folder: TemporaryDirectory
    private let groups: DatabaseGroups
    /// The right to sync of another process.
    private let another: FileLock
    private let gate = Gate()
    private let state: Lock<State>

    private init(_ random: SeededRandom, _ watcher: FileWatcher) throws {
        folder = try TemporaryDirectory()
        groups = DatabaseGroups(watcher: watcher)
        another = FileLock(path: folder.file() + SyncLock.ending, like: folder.file())
        state = Lock(State(random: random, left: 12))
    }

    /// Plays a sequence to its end; returns what went wrong.
    static func play(_ random: SeededRandom, _ watcher: FileWatcher) async throws -> [String] {
        let sequence = try LifecycleSequence(random, watcher)
        let wishes = sequence.draw { 2 + $0.below(6) }
        sequence.join()
        for _ in 0..<wishes { sequence.begin() }
        try await sequence.end()
        sequence.folder.remove()
        return sequence.state.withLock { $0.problems }
    }

    // MARK: The end

    private func end() async throws {
        await waitForTasks()
        state.withLock { $0.left = 0 }
        for database in state.withLock({ $0.instances }) { await perform(.close, on: database) }
        // One that was let go may sync on: whoever disconnects ends that, too.
        let last = makeDatabase()
        await perform(.disconnect, on: last)
        await perform(.close, on: last)
        // Whatever they wait for, also callbacks that go on.
        while let request = state.withLock({ $0.requests.popLast() }) { await request.value }
        state.withLock { state in
            state.isOver = true
            state.instances = []
        }
        gate.open()
        await waitForTasks()
        let group = last.group
        try await wait(for: "the loop to end") { group.loop.withLock { !$0.isRunning } }
        let isLeft = group.loop.withLock {
            $0.connections != nil || $0.sync != nil || $0.connected != nil || !$0.waiters.isEmpty
        }
        if isLeft { report("something is left of the file") }
        another.release()
    }

    /// Waits for all that was begun, and for what that has begun.
    private func waitForTasks() async {
        while let task = state.withLock({ $0.tasks.popLast() }) { await task.value }
    }

    fileprivate func report(_ problem: String) { state.withLock { $0.problems.append(problem) } }

    private func draw<T>(_ pick: (inout SeededRandom) -> T) -> T { state.withLock { pick(&$0.random) } }

    // MARK: Calls

    private static let changedSchema: Schema = {
        let lists = Table(name: "lists", columns: [.text("name"), .text("more")])
        return Schema(tables: TestDatabase.schema.tables.filter { $0.name != "lists" } + [lists])
    }()

    private func makeDatabase(_ schema: Schema = TestDatabase.schema) -> LocalDatabase {
        let path = folder.file()
        return LocalDatabase(
            schema: schema,
            location: Result { () throws(PowerSyncError) in try DatabaseLocation(named: path) },
            logger: DefaultLogger(writers: []), initialStatements: [], groups: groups,
            environment: Self.environment, makeTransport: { SequenceTransport(self) })
    }

    /// Two hundred times as fast as the system's, so that whoever ignores a cancellation is cut off soon.
    private static let environment: SyncEnvironment = {
        var environment = SyncEnvironment.system()
        environment.sleep = { try await ContinuousClock().sleep(for: $0 / 200) }
        environment.batchPause = { try await ContinuousClock().sleep(for: .microseconds(10)) }
        environment.waitForFiles = { try await ContinuousClock().sleep(for: $0 / 200) }
        return environment
    }()

    private func join(_ schema: Schema = TestDatabase.schema) {
        let database = makeDatabase(schema)
        state.withLock { $0.instances.append(database) }
    }

    /// Begins a call that nobody awaits, unless there were enough.
    private func begin(on database: LocalDatabase? = nil) {
        guard let (call, chosen) = next(database) else { return }
        let task = Task { await self.perform(call, on: chosen) }
        state.withLock { $0.tasks.append(task) }
    }

    /// Makes a call and awaits it, unless there were enough.
    private func make(on database: LocalDatabase? = nil) async {
        guard let (call, chosen) = next(database) else { return }
        await perform(call, on: chosen)
    }

    private func next(_ database: LocalDatabase?) -> (Call, LocalDatabase)? {
        state.withLock { state -> (Call, LocalDatabase)? in
            guard state.left > 0, !state.instances.isEmpty else { return nil }
            state.left -= 1
            let call = state.random.pick(Call.allCases + [.connect, .connect, .write])
            let other = state.random.pick(state.instances)
            return (call, database ?? other)
        }
    }

    private func perform(_ call: Call, on database: LocalDatabase) async {
        do {
            try await attempt(call, on: database)
        } catch let error as PowerSyncError where error.code == .closed || error.code == .invalidState {
            // Connected, in use or cut off.
        } catch is CancellationError where !call.isWish {
            // Of a callback that was cancelled.
        } catch {
            report("\(call): \(error)")
        }
    }

    private func attempt(_ call: Call, on database: LocalDatabase) async throws {
        switch call {
        case .query: _ = try await database.getAll("SELECT name FROM users") { try $0.getString(index: 0) }
        case .write: try await database.execute("INSERT INTO users (id, name) VALUES (uuid(), 'A')")
        case .watch:
            for try await _ in try database.watch(
                "SELECT id FROM users", mapper: { try $0.getString(index: 0) })
            {
                await make(on: database)
                break
            }
        case .follow:
            for await _ in database.currentStatus.asFlow() {
                await make(on: database)
                break
            }
        case .subscribe:
            let (name, ttl) = draw { ($0.pick(["a", "b"]), $0.once(in: 2) ? TimeInterval(0) : nil) }
            let handle = try await database.syncStream(name: name, params: nil)
                .subscribe(ttl: ttl, priority: nil)
            await make(on: database)
            // Else it goes with its last reference.
            if draw({ $0.once(in: 2) }) { try await handle.unsubscribe() }
        case .mapper:
            _ = try await database.getAll("SELECT 1") { _ in
                self.begin(on: database)
                return 1
            }
        case .checkpoint: requestCheckpoint(on: database)
        case .join: join()
        case .joinWithSchema: join(Self.changedSchema)
        case .leave:
            state.withLock { state in
                if state.instances.count > 1 { state.instances.removeAll { $0 === database } }
            }
        case .lock: _ = try another.take()
        case .unlock: another.release()
        case .connect:
            let (storesRequests, mode) = draw {
                ($0.once(in: 2), $0.once(in: 2) ? CheckpointMode.requests() : .legacy)
            }
            let plain = SequenceConnector(self)
            let connector: any PowerSyncBackendConnectorProtocol =
                storesRequests ? SequenceStore(connector: plain) : plain
            try await database.connect(
                connector: connector,
                options: ConnectOptions(crudThrottle: 1, retryDelay: 1, checkpointMode: mode))
        case .disconnect: try await database.disconnect()
        case .clear: try await database.disconnectAndClear()
        case .clearSoftly: try await database.disconnectAndClear(soft: true)
        case .updateSchema:
            try await database.updateSchema(schema: Self.changedSchema)
        case .close: try await database.close()
        case .delete: try await database.close(deleteDatabase: true)
        }
    }

    private func requestCheckpoint(on database: LocalDatabase) {
        let task = Task {
            do {
                _ = try await database.requestCheckpoint()
            } catch CheckpointRequestError.notConnecting, CheckpointRequestError.checkpointRequestsNotEnabled
            {
                // As whoever asks too early, too late, or in the other mode.
            } catch let error as PowerSyncError where error.code == .closed {
                // As every call.
            } catch {
                report("requestCheckpoint: \(error)")
            }
        }
        state.withLock { $0.requests.append(task) }
    }

    // MARK: The connector and the service

    /// What a callback of the connector does before its proper work.
    fileprivate func behave(on database: LocalDatabase?) async {
        switch draw({ $0.below(10) }) {
        case 0..<3: await make(on: database)
        case 3..<5: begin(on: database)
        case 5:
            // Until it is cancelled.
            let never = AsyncStream<Void> { _ in }
            for await _ in never {}
            await make(on: database)
        case 6: if draw({ $0.once(in: 4) }) { await gate.pass() }
        default: break
        }
    }

    /// How the service answers: a status, and whether the token is about to end.
    fileprivate func answer() -> (status: Int, endsSoon: Bool) {
        if state.withLock({ $0.isOver }) { report("a request was sent after the last close") }
        return draw { ($0.once(in: 6) ? 401 : 200, $0.once(in: 4)) }
    }
}

private struct SequenceConnector: PowerSyncBackendConnectorProtocol {
    fileprivate let sequence: LifecycleSequence

    init(_ sequence: LifecycleSequence) { self.sequence = sequence }

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        await sequence.behave(on: nil)
        return PowerSyncCredentials(endpoint: "https://powersynctest.example.org", token: "token")
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        let batch = try await database.getCrudBatch()
        await sequence.behave(on: database as? LocalDatabase)
        try await batch?.complete()
    }
}

/// A connector that stores checkpoint requests itself.
private struct SequenceStore: CustomCheckpointRequestConnector {
    let connector: SequenceConnector

    func fetchCredentials() async throws -> PowerSyncCredentials? { try await connector.fetchCredentials() }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        try await connector.uploadData(database: database)
    }

    func postCheckpointRequest(_ checkpointRequestId: Int64, clientId: String) async throws -> Int64 {
        await connector.sequence.behave(on: nil)
        return checkpointRequestId
    }
}

/// A service that answers at once and has nothing to say.
private struct SequenceTransport: SyncTransport {
    private let sequence: LifecycleSequence

    init(_ sequence: LifecycleSequence) { self.sequence = sequence }

    func open(_ request: SyncHTTPRequest) async throws -> any SyncResponseStream {
        let answer = sequence.answer()
        let stream = ScriptedStream(
            status: answer.status,
            headers: [SyncHTTPHeader("Content-Type", "application/x-ndjson")])
        if answer.endsSoon { stream.send(SyncLines.tokenExpires(in: 10)) }
        stream.send(SyncLines.checkpoint(0, []), SyncLines.complete(0))
        return stream
    }

    func send(_ request: SyncHTTPRequest) async throws -> SyncHTTPResponse {
        _ = sequence.answer()
        guard request.url.hasSuffix("/sync/checkpoint-request") else { return .writeCheckpoint(1) }
        let id = try JSON.parse(request.body ?? [])["checkpoint_request_id"]?.stringValue.flatMap { Int($0) }
        return .checkpointRequest(id ?? 0)
    }
}
