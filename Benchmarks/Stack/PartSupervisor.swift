import PowerSyncStack
import PowerSyncSystem

/// Starts backend and service again when they die, as a container engine would, and counts how often that was.
///
/// What is killed on purpose through `LocalStack` does not count, and stays down.
final class PartSupervisor: Sendable {
    private let stack: LocalStack
    private let count = Lock(0)

    /// Watches over a stack that runs.
    init(_ stack: LocalStack) { self.stack = stack }

    /// How many parts have died so far.
    var deaths: Int { count.withLock { $0 } }

    /// Looks once a second until the task is cancelled.
    ///
    /// - Throws: `StackError` if a part cannot be started again, `CancellationError`.
    func run() async throws {
        while true {
            try await Phase.pause(.seconds(1))
            for part in LocalStack.Part.allCases {
                // Asked twice: one that is killed on purpose in between is not there any more.
                guard let dead = await stack.process(part), dead.hasEnded, await stack.process(part) === dead
                else { continue }
                count.withLock { $0 += 1 }
                BenchmarkReport.progress("the \(part.rawValue) has died and is started again")
                await stack.kill(part)
                try await stack.start(part)
            }
        }
    }
}
