import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncCommandLine

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A reader that goes away ends the output and nothing else.
@Suite(.patient())
struct StandardStreamsTests {
    /// In a process of its own, whose standard output is a pipe that nobody reads any more.
    @Test func aCommandGoesOnToItsOwnStatusWhenItsReaderLeaves() async {
        await #expect(processExitsWith: .exitCode(7)) {
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            try #require(dup2(ends[1], 1) == 1)
            close(ends[1])
            let readEnd = ends[0]
            let command = Command("tool", abstract: "A tool.") { _ in
                StandardOutput.print("read")
                var byte: UInt8 = 0
                guard read(readEnd, &byte, 1) == 1 else { return 1 }
                close(readEnd)
                for _ in 0..<3 { StandardOutput.print("nobody reads this") }
                return 7
            }
            exit(await command.main([]))
        }
    }

    /// The programs that a command starts end as ever when their reader leaves.
    @Test func aChildOfACommandHasTheDefaultAction() async {
        await #expect(processExitsWith: .exitCode(7)) {
            let command = Command("tool", abstract: "A tool.") { _ in
                let child = try ChildProcess.spawn("/bin/sh", ["-c", "kill -PIPE $$; exit 9"])
                return await child.wait() == .signalled(SIGPIPE) ? 7 : 1
            }
            exit(await command.main([]))
        }
    }

    @Test func aStreamThatIsClosedLeadsNowhere() async throws {
        let folder = try TemporaryDirectory(prefix: "streams-")
        defer { folder.remove() }
        let told = folder.path + "/told"
        // Whichever thread of the process opens something between closing and replacing gets the number: not our case.
        for _ in 0..<20 where FileManager.default.contents(atPath: told) != Data("as it must be".utf8) {
            await #expect(processExitsWith: .success) { [told = told as String] in
                close(0)
                StandardStreams.replaceClosed()
                var (stream, nowhere) = (stat(), stat())
                #expect(fstat(0, &stream) == 0 && stat("/dev/null", &nowhere) == 0)
                if stream.st_rdev != nowhere.st_rdev {
                    #expect(FileManager.default.createFile(atPath: told, contents: Data("taken".utf8)))
                    exit(EXIT_SUCCESS)
                }
                var byte: UInt8 = 0
                #expect(read(0, &byte, 1) == 0)
                // What is opened now is something else.
                var ends: [Int32] = [0, 0]
                #expect(pipe(&ends) == 0)
                #expect(ends[0] > 2 && ends[1] > 2)
                #expect(FileManager.default.createFile(atPath: told, contents: Data("as it must be".utf8)))
            }
        }
        #expect(FileManager.default.contents(atPath: told) == Data("as it must be".utf8))
    }

    #if os(Linux)
        /// As node makes the pipes of its children; a thread that tried again and again would never sleep.
        @Test func aFullPipeThatDoesNotBlockIsWaitedForAndGetsAllOfTheText() async throws {
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            let (readEnd, writeEnd) = (ends[0], ends[1])
            defer { close(readEnd) }
            _ = fcntl(writeEnd, F_SETFL, O_NONBLOCK)
            let text = (0..<50_000).map { "line \($0)" }.joined(separator: "\n")
            let thread = Lock<Int32>(0)
            try DetachedThread.start {
                // As "812/task/815".
                let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
                thread.withLock { $0 = link.flatMap { Int32($0.split(separator: "/").last ?? "") } ?? 0 }
                Descriptor.write(text, to: writeEnd)
                close(writeEnd)
            }
            try await wait(for: "the writer to sleep", read: { state(of: thread.withLock { $0 }) }) {
                $0 == "S"
            }
            var all: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 10_000)
            while case let count = read(readEnd, &buffer, buffer.count), count > 0 { all += buffer[..<count] }
            #expect(all == Array(text.utf8))
        }

        /// Asked some times in a row, because even a busy thread may be seen at rest once.
        private func state(of thread: Int32) -> String {
            let states = (0..<20).map { _ in thread == 0 ? "?" : Processes.state(of: thread) ?? "?" }
            return states.first { $0 != "S" } ?? "S"
        }
    #endif

    @Test func whoeverMustKnowLearnsThatNobodyReads() async {
        await #expect(processExitsWith: .success) {
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            try #require(dup2(ends[1], 1) == 1)
            signal(SIGPIPE, SIG_IGN)
            try StandardOutput.put("read")
            var bytes = [UInt8](repeating: 0, count: 100)
            #expect(read(ends[0], &bytes, bytes.count) == 5)
            close(ends[0])
            let error = #expect(throws: SystemError.self) { try StandardOutput.put("nobody reads this") }
            #expect(error?.errno == EPIPE)
            #expect(error?.message == "cannot write to standard output")
        }
    }

    @Test func aReaderThatLeavesWhileItsPipeIsFullEndsTheWriting() async {
        await #expect(processExitsWith: .success) {
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            let (readEnd, writeEnd) = (ends[0], ends[1])
            signal(SIGPIPE, SIG_IGN)
            _ = fcntl(writeEnd, F_SETFL, O_NONBLOCK)
            let isDone = Lock(false)
            try DetachedThread.start {
                Descriptor.write(String(repeating: "x", count: 1 << 20), to: writeEnd)
                isDone.withLock { $0 = true }
            }
            var byte: UInt8 = 0
            #expect(read(readEnd, &byte, 1) == 1)
            close(readEnd)
            try await wait(for: "the writer to give up") { isDone.withLock { $0 } }
        }
    }
}
