import CPowerSyncLossyFiles
import PowerSyncCommandLine
import PowerSyncMockService
import PowerSyncServiceEngine
import PowerSyncSystem
import PowerSyncTestSupport

/// A process that is a whole service on a database, and is killed in the midst of its work: for exit tests.
enum ServiceChild {
    /// What such a process is to do.
    struct Plan: Codable, Sendable {
        /// The database.
        var uri: String
        /// The state.
        var state: String
        /// Where it is said what the service does.
        var journal: String
        /// Where the service listens.
        var port: Int
        /// What the stream of the table is called.
        var name: String
        /// What is drawn by: which writes go to the system before they are synced.
        var draw: UInt64
        /// How many of a hundred do; nil for the files of the system.
        var percentThrough: Int?
        /// Behind what the end is near.
        var moment: StoreMoments.Moment
        /// The how manieth time.
        var count = 1
        /// How long after that it comes.
        var delay: Duration
    }

    /// How often the state is looked at.
    private static let pause = Duration.microseconds(500)
    /// When the end comes, by a kill, if the moment does not.
    private static let longest = TestOptions.standstill * 3

    /// The limits of a session, and little rest for upkeep.
    static let limits: StoreLimits = {
        var limits = StoreSession.limits
        limits.upkeepPause = .milliseconds(5)
        limits.logRest = .milliseconds(50)
        return limits
    }()

    /// Goes on until it is killed.
    static func run(_ plan: Plan) async throws {
        try await StoreJournal.keepingErrors(beside: plan.journal) { try await work(plan) }
    }

    private static func work(_ plan: Plan) async throws {
        if let percent = plan.percentThrough {
            let result = powersync_lossy_files_register(plan.draw, Int32(percent), true)
            guard result == 0 else {
                throw StoreSession.Failure(description: "SQLite refuses the files: \(result)")
            }
        }
        let journal = try StoreJournal(path: plan.journal)
        let moments = StoreMoments(
            killedBehind: plan.moment, count: plan.count, delay: plan.delay, journal)
        try moments.note(.opening)
        var configuration = try TestService.configuration(
            plan.uri, statePath: plan.state, ScriptWriter.config(named: plan.name))
        configuration.port = plan.port
        configuration.storeLimits = limits
        let poller = try Poller()
        let service = MockService(
            configuration: configuration, poller: poller, log: Log(label: "test", level: .error))
        try watch(plan.state, of: service, moments)
        try await service.start()
        try await poller.sleep(until: .now + longest)
        // A process that ends by itself takes apart what its threads still use.
        try moments.giveUp()
        try await poller.sleep(until: .now + longest)
        withExtendedLifetime(service) {}
    }

    /// Notes what is done to a state, on a thread of its own.
    private static func watch(_ path: String, of service: MockService, _ moments: StoreMoments) throws {
        try DetachedThread.start {
            var watch = StateWatch(path)
            while true {
                // Who looks at a file whose log has yet to be recovered has it locked, and the service, which has a file
                // for itself alone, waits for nobody. Later there may be no state for a moment.
                let seen = service.store == nil ? [] : (try? watch.look()) ?? []
                do {
                    for moment in seen { try moments.note(moment) }
                } catch {
                    preconditionFailure("no thread can be started: \(error)")
                }
                DetachedThread.sleep(for: pause)
            }
        }
    }
}
