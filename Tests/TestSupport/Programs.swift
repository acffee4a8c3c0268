import PowerSyncSystem
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Waits for the end of a program; kills one whose end does not come.
///
/// - Parameters:
///   - program: The program.
///   - name: What it is called.
///   - deadline: How long at most; the one deadline of all tests unless there is a reason.
///   - sourceLocation: Where it is waited for.
/// - Returns: How it ended.
/// - Throws: `StateDidNotCome` after recording an issue, or `CancellationError`.
@discardableResult
package func wait(
    forEndOf program: ChildProcess, called name: String = "a program",
    within deadline: Duration = TestOptions.deadline, sourceLocation: SourceLocation = #_sourceLocation
) async throws -> ChildProcess.ExitStatus {
    do {
        try await wait(for: "the end of \(name)", within: deadline, sourceLocation: sourceLocation) {
            program.hasEnded
        }
    } catch {
        program.signal(SIGKILL)
        throw error
    }
    return await program.wait()
}
