import PowerSyncHTTPClient
import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncMockService
@testable import PowerSyncServiceEngine

/// kill -9 in a loop around a whole service on a real Postgres, half of the time on files that lose what was not
/// synced; `POWERSYNC_SERVICE_KILLS` says how often.
@Suite(
    .enabled(if: TestOptions.hasDatabase && TestOptions.number("POWERSYNC_SERVICE_KILLS", standard: 0) > 0),
    .namesSeed)
struct PostgresCrashTests {
    /// What can be seen of a service from beside.
    private static let moments = StoreMoments.Moment.allCases.filter { $0 != .emptied }

    /// Each checkpoint that a client has got is a commit of the source, also across kills, and no operation id is given
    /// twice; a kill leaves all that Postgres was told is stored, and buckets with the rows of a commit.
    @Test(.patient(minutes: 240)) func bucketsEqualPostgresAfterAKill() async throws {
        var killed: [String: Int] = [:]
        let states = (StoreKills.number + Self.moments.count - 1) / Self.moments.count
        try await forEachSeed(states) { random in
            var chance = random
            try await TestService.run(ScriptWriter.schema) { service in
                let rig = try PostgresCrashRig(service, seed: chance.seed)
                // From the first on there is a stream that clients are served from.
                let others = Self.moments.filter { $0 != .commit }.shuffled(using: &chance)
                for moment in [.commit] + others { try await rig.kill(behind: moment, &chance) }
                try await rig.settle()
                killed.merge(try rig.killed()) { $0 + $1 }
            }
            random = chance
        }
        let all = killed.sorted { $0.key < $1.key }.map { ", \($0.value) behind \($0.key)" }.joined()
        print("a service on Postgres was killed\(all)")
        // Whether rows have to be read again is for Postgres to say.
        for moment in Self.moments where moment != .again {
            #expect(killed[moment.rawValue] ?? 0 > 0, "\(moment)")
        }
    }
}

/// A database that is written to, a service that is killed, and clients that stay.
private final class PostgresCrashRig {
    /// Behind so many commits the source rests until clients have all of them, and a while for upkeep, but not for ever: where
    /// more comes than the service can take, rows that have to be read again are always ahead of it, and nothing is published.
    private static let commitsOfADay = 32
    private static let rest = Duration.milliseconds(200)
    private static let longestNight = Duration.seconds(2)

    private let service: TestService
    private let folder: TemporaryDirectory
    private let writer: ScriptWriter
    private let clients: [CrashClient]
    private let given = Lock<Int64>(0)
    /// What the streams of the table are called of which clients are served, and which is being built.
    private var names: (active: String?, building: String?) = (nil, nil)
    private var active: StreamNumber?

    init(_ service: TestService, seed: Int) throws {
        self.service = service
        folder = try TemporaryDirectory(prefix: "powersync-crash-")
        let writer = ScriptWriter(StoreScript(seed: seed, hasAll: true))
        self.writer = writer
        clients = ["u0", "u1"].map { CrashClient($0, of: writer) }
    }

    deinit { folder.remove() }

    private var journal: String { folder.path + "/journal" }

    /// How often the service was killed behind what.
    func killed() throws -> [String: Int] { try StoreJournal.content(of: journal).killed }

    // MARK: Killing

    /// Runs the service until it has killed itself, and looks at what it has left.
    func kill(behind moment: StoreMoments.Moment, _ random: inout SeededRandom) async throws {
        let isOpening = moment == .opening
        // What is to come takes another configuration.
        let isRedeployed =
            switch moment {
            case .piece, .read, .switched, .removed, .vacuumed: true
            case .opening, .commit, .again, .merged, .emptied: random.once(in: 2)
            }
        let name = name(isRedeployed: isRedeployed, isFresh: moment == .piece || moment == .read)
        let lossy: [Int?] = [nil, nil, nil, 0, 25, 75]
        var plan = ServiceChild.Plan(
            uri: service.uri, state: service.statePath, journal: journal, port: try FreePort.find(),
            name: name, draw: random.next(), percentThrough: random.pick(lossy), moment: moment,
            delay: .microseconds(random.below(isOpening ? 500_000 : 20_000)))
        if moment == .commit { plan.count = 1 + random.below(40) }
        service.sendRequests(to: plan.port)
        try await whileThereIsLoad { try await Self.run(plan) }
        let problems = try await problems(staysServed: name == names.active)
        try #require(problems.isEmpty, "killed behind \(moment)")
    }

    private static func run(_ plan: ServiceChild.Plan) async throws {
        let result = try await ProcessTurn.take {
            await #expect(processExitsWith: .failure) { [plan = plan as ServiceChild.Plan] in
                try await ServiceChild.run(plan)
            }
        }
        StoreKills.expectKilled(result, plan.journal)
    }

    /// What the next configuration calls the stream of the table: as before, as what is being built, or otherwise.
    private func name(isRedeployed: Bool, isFresh: Bool) -> String {
        guard isRedeployed else { return names.active ?? StoreScript.names[0] }
        if let building = names.building, !isFresh { return building }
        return StoreScript.names.first { $0 != names.active && $0 != names.building } ?? ""
    }

    /// Writes, reads streams and asks for write checkpoints while a body runs.
    private func whileThereIsLoad(_ body: () async throws -> Void) async throws {
        let isOver = Lock(false)
        let writing = Task { [service, writer, clients] in
            while !isOver.withLock({ $0 }) {
                try await writer.commit(service.source)
                try await service.poller.sleep(until: .now + .milliseconds(2))
                if writer.last.isMultiple(of: PostgresCrashRig.commitsOfADay) {
                    try await PostgresCrashRig.sleepANight(service, behind: writer.last, clients)
                }
            }
        }
        let others = read() + [ask()]
        do {
            try await body()
        } catch {
            for task in others + [writing] { task.cancel() }
            throw error
        }
        isOver.withLock { $0 = true }
        try await wait(forEndOf: writing)
        await end(others)
    }

    /// Lets nothing be written until all clients have what was, or the longest night is over: the service may be away.
    private static func sleepANight(
        _ service: TestService, behind last: Int, _ clients: [CrashClient]
    ) async throws {
        let morning = ContinuousClock.now + longestNight
        while .now < morning {
            let isRead = clients.allSatisfy { $0.commit >= last }
            if isRead { break }
            try await service.poller.sleep(until: .now + .milliseconds(5))
        }
        try await service.poller.sleep(until: min(morning, ContinuousClock.now + rest))
    }

    /// Lets clients read streams until their tasks are cancelled.
    private func read() -> [Task<Void, any Error>] {
        clients.map { [service] client in Task { try await client.run(service) } }
    }

    /// Asks for write checkpoints until its task is cancelled.
    private func ask() -> Task<Void, any Error> {
        let asker = WriteCheckpointAsker(service: service, given: given)
        return Task { try await asker.run() }
    }

    /// Cancels tasks, which end by throwing alone.
    private func end(_ tasks: [Task<Void, any Error>]) async {
        for task in tasks { task.cancel() }
        for task in tasks {
            await #expect(throws: CancellationError.self) { try await wait(forEndOf: task) }
        }
    }

    // MARK: What is left

    /// What is wrong with what a kill has left.
    private func problems(staysServed: Bool) async throws -> [String] {
        // The server ends the session of who is gone, behind the last that it said.
        try await wait(for: "the slots to be free") {
            try await service.source.query(
                "SELECT count(*) FROM pg_replication_slots WHERE database = current_database() AND active"
            ).scalar
        } until: {
            $0 == "0"
        }
        let slots = try await service.source.query(
            "SELECT slot_name, confirmed_flush_lsn FROM pg_replication_slots "
                + "WHERE database = current_database()")
        var promises = StorePromises()
        promises.writeCheckpoints[ExactText(WriteCheckpointKey.text(userID: "u0", clientID: "c"))] =
            given.withLock { $0 }
        for client in clients {
            for (stream, shown) in client.shown { promises.published[stream, default: []] += shown }
        }
        // In the order in which all of them were shown.
        promises.published = promises.published.mapValues { $0.sorted { $0.operation < $1.operation } }
        let told = promises
        let check: StoreCheck
        do {
            check = try StoreKills.withCopy(of: service.statePath) { path in
                try StoreCheck(path: path, keeps: told, limits: ServiceChild.limits)
            }
        } catch {
            return ["the file cannot be read: \(error)"]
        }
        var problems = check.problems + clients.flatMap(\.problems) + differences(check)
        for row in 0..<slots.rowCount {
            let stream = check.streams.values.first { $0.slot == slots[row, 0] }
            guard let stream else {
                problems.append("nobody knows the slot \(slots[row, 0] ?? "")")
                continue
            }
            // One that was just made, of which that is not noted, is made again.
            guard stream.storedLSN > .zero, let confirmed = slots[row, 1].flatMap({ LSN(text: $0) }) else {
                continue
            }
            if confirmed > stream.storedLSN {
                problems.append("\(confirmed) was confirmed of \(stream.slot), \(stream.storedLSN) is stored")
            }
        }
        let live = check.streams.values.filter { !$0.isStopped }
        let served = live.first { $0.isActive }
        if staysServed, served?.number != active { problems.append("everything was replicated again") }
        active = served?.number
        names = (
            served.map { StoreScript.name(of: $0.config) },
            live.first { !$0.isActive }.map { StoreScript.name(of: $0.config) }
        )
        return problems
    }

    /// How buckets differ from the commit of the source that the marker in them says.
    private func differences(_ check: StoreCheck) -> [String] {
        var problems: [String] = []
        for stream in check.streams.values where !stream.isStopped {
            var rows = check.rows.filter { $0.key.text.hasPrefix("\(stream.number)#") }
            let marker = rows.removeValue(forKey: ExactText("\(stream.number)#marker|0[]"))
            let text = marker?.first?.data.split(separator: ":").last?.dropLast()
            let number = text.flatMap { Int($0) }
            if let number, marker?.count == 1, number <= writer.last {
                let source = writer.script.rows(through: number)
                problems += StoreCheck.differences(rows, StoreScript.held(source, of: stream))
            } else if stream.checkpoint.operation > 0 || !rows.isEmpty {
                problems.append("stream \(stream.number) has a checkpoint that is no commit: \(text ?? "")")
            }
        }
        return problems
    }

    // MARK: The end

    /// Lets the service and its clients come to rest, and compares all with Postgres.
    func settle() async throws {
        try await service.start(ScriptWriter.config(named: names.active ?? StoreScript.names[0])) {
            $0.storeLimits = ServiceChild.limits
        }
        try await whileThereIsLoad {
            let last = writer.last
            for client in clients {
                try await wait(for: "\(client.user) to go on", read: { client.commit }, until: { $0 > last })
            }
        }
        // Behind the last transaction nothing is written: clients have to come to exactly that.
        let reading = read()
        for client in clients {
            try await wait(for: "the last commit", read: { client.commit }, until: { $0 == writer.last })
        }
        await end(reading)
        for client in clients {
            #expect(client.problems == [])
            #expect(client.checkpoints > 0)
        }
        let found = try await service.source.query("SELECT id, owner, big FROM t")
        var rows: [String: StoreScript.Row] = [:]
        for row in 0..<found.rowCount {
            let id = found[row, 0] ?? ""
            rows[id] = StoreScript.Row(id: id, owner: found[row, 1] ?? "", text: found[row, 2] ?? "")
        }
        #expect(rows == writer.script.rows(through: writer.last))
        await service.stop()
        let check = try StoreCheck(path: service.statePath, limits: ServiceChild.limits)
        #expect(check.problems + differences(check) == [])
    }
}

/// Asks a service for write checkpoints, whose ids rise.
private struct WriteCheckpointAsker: Sendable {
    let service: TestService
    /// The last one that was given.
    let given: Lock<Int64>

    /// Asks until its task is cancelled.
    func run() async throws {
        while true {
            do {
                let answer = try await service.send(
                    "GET", "/write-checkpoint2.json?client_id=c", user: "u0")
                if answer.status == 200 {
                    let text = try JSON.parse(answer.body)["data"]?["write_checkpoint"]?.stringValue
                    let id = text.flatMap { Int64($0) } ?? 0
                    let former = given.withLock { given in
                        defer { given = id }
                        return given
                    }
                    #expect(id > former)
                }
            } catch {
                // The service was killed, or is away yet.
                try Task.checkCancellation()
            }
            try await service.poller.sleep(until: .now + .milliseconds(20))
        }
    }
}
