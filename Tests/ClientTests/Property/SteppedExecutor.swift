import Dispatch
import PowerSyncSystem

@testable import PowerSyncSQLite

/// Runs the tasks that prefer it on the thread of a session, one job after the other.
///
/// While jobs run, the database stands still, and while the database works, no job runs. So the same session does the
/// same again, and when ``run()`` has returned, nothing happens until the session itself does something.
final class SteppedExecutor: TaskExecutor {
    /// What would go on for ever.
    struct NeverRests: Error, CustomStringConvertible {
        let description =
            "it does not come to rest: more than \(SteppedExecutor.mostJobs) jobs after one step"
    }

    static let mostJobs = 100_000

    private let jobs = Lock<[UnownedJob]>([])
    private let writer: HeldWriter

    /// Takes hold of the one connection of a pool.
    init(_ pool: SQLitePool) { writer = HeldWriter(pool) }

    func enqueue(_ job: consuming ExecutorJob) {
        let unowned = UnownedJob(job)
        jobs.withLock { $0.append(unowned) }
    }

    /// Runs jobs, and lets the database work, until neither has anything left to do; only for the thread of the session.
    func run() throws {
        var count = 0
        repeat {
            while let job = next() {
                job.runSynchronously(on: asUnownedTaskExecutor())
                count += 1
                if count > Self.mostJobs { throw NeverRests() }
            }
            writer.letWork()
        } while jobs.withLock { !$0.isEmpty }
    }

    /// Lets go of the connection; nothing may be run any more.
    func end() { writer.letGo() }

    private func next() -> UnownedJob? {
        jobs.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }
}

/// The writing connection of a pool, which stands still but while it is let work.
private final class HeldWriter: @unchecked Sendable {
    // Safe because the thread of the session alone uses it.

    /// A request that holds the connection until it is released.
    private final class Hold: Sendable {
        let reached = DispatchSemaphore(value: 0)
        let released = DispatchSemaphore(value: 0)
    }

    private let pool: SQLitePool
    private var hold = Hold()

    init(_ pool: SQLitePool) {
        self.pool = pool
        add(hold)
        hold.reached.wait()
    }

    /// Returns when the connection has done all that was asked of it, and stands still again.
    func letWork() {
        let next = Hold()
        add(next)
        hold.released.signal()
        next.reached.wait()
        hold = next
    }

    func letGo() { hold.released.signal() }

    private func add(_ hold: Hold) {
        let isAdded = pool.writes.add { _ in
            hold.reached.signal()
            hold.released.wait()
        }
        precondition(isAdded, "the pool of a session is closed behind it")
    }
}
