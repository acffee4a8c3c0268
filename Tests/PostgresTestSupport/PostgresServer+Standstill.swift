import Foundation
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension PostgresServer {
    /// Whether the system tells the processes of a server, as `standStill` needs.
    package static var canStandStill: Bool { FileManager.default.fileExists(atPath: "/proc/self/stat") }

    /// Stops the postmaster and all its children where they are (SIGSTOP): sockets stay open, and nobody answers.
    ///
    /// `goOn` must follow, also when it throws.
    package func standStill() async throws {
        deliver(SIGSTOP, to: processID)
        // A child may have been made a moment ago; of a postmaster that stands still there come no more.
        try await wait(for: "all processes of the server to stand still") {
            let processes = try family()
            for id in processes { deliver(SIGSTOP, to: id) }
            let states = processes.map { Processes.state(of: $0) }
            // One that has ended meanwhile has none.
            return states.allSatisfy { state in state.map { ["T", "t", "Z"].contains($0) } ?? true }
        }
    }

    /// Lets all processes go on (SIGCONT).
    package func goOn() throws {
        for id in try family() { deliver(SIGCONT, to: id) }
    }

    /// Runs a test while the server stands still.
    package func whileStandingStill(_ body: () async throws -> Void) async throws {
        do {
            try await standStill()
            try await body()
        } catch {
            try goOn()
            throw error
        }
        try goOn()
    }

    /// Returns as soon as somebody else could connect and be answered.
    package func waitForConnections(_ poller: Poller) async throws {
        try await wait(for: "the server to take connections") {
            do {
                let connection = try await PostgresConnection.connect(
                    uri(), poller: poller, deadline: .seconds(1))
                await connection.close()
                return true
            } catch is PostgresError {
                return false
            }
        }
    }

    /// The postmaster and its children (proc(5): the parent is the second field behind the name).
    package func family() throws -> [Int32] {
        let ids = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { Int32($0) }
        let children = ids.filter { id in
            guard let status = FileManager.default.contents(atPath: "/proc/\(id)/stat") else { return false }
            let fields = String(decoding: status, as: UTF8.self).split(separator: ")").last?.split(
                separator: " ")
            guard let fields, fields.count > 1 else { return false }
            return Int32(fields[1]) == processID
        }
        return [processID] + children
    }
}

/// Outside of the type, whose own `kill` hides the function.
private func deliver(_ signal: Int32, to process: Int32) {
    // A process that has ended meanwhile needs none.
    _ = kill(process, signal)
}
