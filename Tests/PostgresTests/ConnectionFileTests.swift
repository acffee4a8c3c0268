import Foundation
import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Files that libpq reads while it connects, on a disk that does not answer: a pipe that nobody writes to.
@Suite(.patient())
struct ConnectionFileTests {
    private let folder: TemporaryDirectory
    private var pipe: String { folder.path + "/pipe" }

    init() throws {
        folder = try TemporaryDirectory(prefix: "connection-files")
        guard mkfifo(folder.path + "/pipe", 0o600) == 0 else {
            throw SystemError(.file, "mkfifo", errno: errno)
        }
    }

    @Test func aCertificateThatCannotBeReadIsGivenUp() async throws {
        defer { folder.remove() }
        let poller = try Poller()
        defer { poller.stop() }
        let server = try RawServer { connection in
            guard connection.receive() != nil else { return }
            // Willing to encrypt.
            connection.send("S")
            connection.waitForHangUp()
        }
        // A machine that is busy may need longer than the deadline to come as far as the file.
        var writing: CInt = -1
        var deadline = Duration.milliseconds(200)
        while writing < 0 {
            let (pipe, patience) = (pipe, deadline)
            let connecting = Task {
                _ = try await PostgresConnection.connect(
                    "postgres://u@127.0.0.1:\(server.port)/d?gssencmode=disable",
                    parameters: ["sslmode": "verify-full", "sslrootcert": pipe], poller: poller,
                    deadline: patience)
            }
            let error = await #expect(throws: PostgresError.self) { try await wait(forEndOf: connecting) }
            try #require(error?.code == .connectTimedOut)
            writing = try writingEnd()
            deadline *= 2
        }
        // More than one where an earlier one came to the file behind its deadline.
        #expect(poller.calls.count > 0, "the call goes on")
        close(writing)
        try await wait(for: "the call to end") { poller.calls.count == 0 }
    }

    /// In a process of its own, whose environment it changes.
    @Test func aServiceFileThatCannotBeReadIsGivenUp() async throws {
        defer { folder.remove() }
        await #expect(processExitsWith: .exitCode(7)) { [pipe = pipe as String] in
            setenv("PGSERVICEFILE", pipe, 1)
            let poller = try Poller()
            do {
                _ = try await PostgresConnection.connect(
                    "postgres://u@127.0.0.1:1/d?service=any", poller: poller, deadline: .milliseconds(200))
            } catch let error as PostgresError where error.code == .connectTimedOut {
                exit(7)
            }
        }
    }

    /// The end of the pipe that is written to, or a negative number while nobody reads it.
    ///
    /// Closed, it lets whoever reads come to the end.
    private func writingEnd() throws -> CInt {
        let descriptor = open(pipe, O_WRONLY | O_NONBLOCK)
        guard descriptor >= 0 || errno == ENXIO else { throw SystemError(.file, "open", errno: errno) }
        return descriptor
    }
}
