import Foundation
import Testing

/// Returns once the condition holds; records an issue when it does not within the time.
func eventually(
    within time: Duration = .seconds(5), _ what: Comment, sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + time
    while try await !condition() {
        guard ContinuousClock.now < deadline else {
            Issue.record(what, sourceLocation: sourceLocation)
            return
        }
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// Whether a process is there and is no zombie, which nobody may have reaped yet.
func isAlive(_ process: Int32) -> Bool {
    guard kill(process, 0) == 0 else { return false }
    guard let status = FileManager.default.contents(atPath: "/proc/\(process)/stat") else { return true }
    let fields = String(decoding: status, as: UTF8.self).split(separator: ")").last?.split(separator: " ")
    return fields?.first != "Z"
}
