/// Reads in the log of Postgres why it did not start.
package enum ServerFailure: Sendable, Equatable {
    case portInUse
    case directoryInUse
    /// Children of a postmaster that was killed still hold the shared memory; it passes.
    case sharedMemoryInUse
    /// Anything else, in the words of Postgres.
    case other(String)

    /// Reads all that was written since the start.
    package init(log: String) {
        if log.contains("could not bind") || log.contains("could not create any TCP/IP sockets") {
            self = .portInUse
        } else if log.contains("pre-existing shared memory block") {
            self = .sharedMemoryInUse
        } else if log.contains("lock file \"postmaster.pid\" already exists") {
            self = .directoryInUse
        } else {
            let lines = log.split(whereSeparator: \.isNewline).map(String.init)
            let start = lines.firstIndex {
                $0.contains("FATAL:") || $0.contains("PANIC:") || $0.contains("error:")
            }
            let told = start.map { Array(lines[$0...].prefix(3)) } ?? Array(lines.suffix(2))
            self = .other(told.isEmpty ? "it gave no reason" : told.joined(separator: "; "))
        }
    }
}
