import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite(.patient())
struct SessionTests {
    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The signals of a test, which reach the session alone.
    private let signals: AsyncStream<Int32>
    private let sender: AsyncStream<Int32>.Continuation

    init() { (signals, sender) = AsyncStream.makeStream(of: Int32.self) }

    /// Notes what happens, in order.
    private final class Notes: Sendable {
        private let notes = Lock<[String]>([])

        var all: [String] { notes.withLock { $0 } }

        func add(_ note: String) { notes.withLock { $0.append(note) } }
    }

    @Test func aNormalEndClosesInATaskThatMayWait() async throws {
        let notes = Notes()
        let result = try await Session.run(until: signals) { session in
            session.onEnd {
                // What asks a database on the way out throws in a cancelled task.
                try Task.checkCancellation()
                notes.add("first")
            }
            session.onEnd { notes.add("last") }
            return 7
        }
        #expect(result == 7)
        #expect(notes.all == ["last", "first"])
    }

    @Test func aSignalCancelsTheRunAndClosesInATaskThatMayWait() async throws {
        let notes = Notes()
        let sender = sender
        let result: Void? = try await Session.run(until: signals) { session in
            session.onEnd {
                try Task.checkCancellation()
                notes.add("closed")
            }
            sender.yield(2)
            do {
                try await Task.sleep(for: .seconds(3600))
            } catch {
                notes.add("cancelled")
                throw error
            }
        }
        #expect(result == nil)
        #expect(notes.all == ["cancelled", "closed"])
    }

    @Test func aFailureOfClosingIsThrownAndDoesNotEndTheRest() async throws {
        let notes = Notes()
        let error = await #expect(throws: StackError.self) {
            try await Session.run(until: signals) { session in
                session.onEnd { notes.add("first") }
                session.onEnd { throw Failure(description: "the slot stays") }
            }
        }
        #expect(error?.code == .closing && error?.message == "the slot stays")
        #expect(notes.all == ["first"])
    }

    @Test func bothFailuresAreTold() async throws {
        let error = await #expect(throws: StackError.self) {
            try await Session.run(until: signals) { session in
                session.onEnd { throw Failure(description: "the slot stays") }
                throw Failure(description: "the service ended")
            }
        }
        #expect(error?.message == "the service ended; the slot stays")
    }

    @Test func theErrorOfTheRunIsThrownWhenClosingSucceeds() async throws {
        let error = await #expect(throws: Failure.self) {
            try await Session.run(until: signals) { _ in throw Failure(description: "the service ended") }
        }
        #expect(error?.description == "the service ended")
    }

    /// Behind its own limits a session ends its program, so this one and the next have a program each.
    @Test func aSecondSignalHurriesClosingOn() async {
        await #expect(processExitsWith: .success) {
            let (signals, sender) = AsyncStream.makeStream(of: Int32.self)
            let (closing, hurried) = (Gate(), Gate())
            let end = Task {
                try await Session.run(until: signals, closingWithin: TestOptions.deadline) { session in
                    session.onHurry { hurried.open() }
                    session.onEnd {
                        await closing.pass()
                        await hurried.pass()
                    }
                    sender.yield(2)
                    try await Task.sleep(for: .seconds(3600))
                }
            }
            try await wait(for: "closing to begin") { closing.arrivals == 1 }
            closing.open()
            try await wait(for: "closing to stand still") { hurried.arrivals == 1 }
            sender.yield(2)
            #expect(try await end.value == nil)
        }
    }

    /// The end of the run by itself counts as having asked: the first signal then hurries.
    @Test func aSignalWhileClosingHurries() async {
        await #expect(processExitsWith: .success) {
            let (signals, sender) = AsyncStream.makeStream(of: Int32.self)
            let hurried = Gate()
            let end = Task {
                try await Session.run(until: signals, closingWithin: TestOptions.deadline) { session in
                    session.onEnd { await hurried.pass() }
                    session.onHurry { hurried.open() }
                    return 1
                }
            }
            try await wait(for: "closing to stand still") { hurried.arrivals == 1 }
            sender.yield(15)
            #expect(try await end.value == 1)
        }
    }

    /// The service alone may take twenty seconds to stop, and what is dropped on a server ten.
    @Test func theTimesOfProductionAreThese() {
        #expect(Session.patience == .seconds(45) && Session.grace == .seconds(10))
    }

    @Test func closingHasADeadline() async throws {
        let notes = Notes()
        let error = await #expect(throws: StackError.self) {
            try await Session.run(until: signals, closingWithin: .milliseconds(50), thenWithin: .seconds(600))
            {
                session in
                session.onEnd { notes.add("still closed") }
                session.onEnd { try await Task.sleep(for: .seconds(3600)) }
            }
        }
        #expect(error?.message == "closing took longer than 0.05 seconds")
        #expect(notes.all == ["still closed"])
    }

    @Test func theThirdSignalEndsTheProgram() async throws {
        await #expect(processExitsWith: .exitCode(128 + 15)) {
            let (signals, sender) = AsyncStream.makeStream(of: Int32.self)
            _ = try await Session.run(until: signals, closingWithin: TestOptions.deadline) { session in
                session.onEnd { await Gate().pass() }
                for _ in 0..<3 { sender.yield(15) }
                try await Task.sleep(for: .seconds(3600))
            }
        }
    }

    @Test func closingThatHeedsNothingEndsTheProgram() async throws {
        let result = await #expect(processExitsWith: .exitCode(1), observing: [\.standardErrorContent]) {
            let (signals, _) = AsyncStream.makeStream(of: Int32.self)
            _ = try await Session.run(
                until: signals, closingWithin: .milliseconds(1), thenWithin: .milliseconds(1)
            ) {
                session in
                session.onEnd { await Gate().pass() }
            }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(
            text.contains("error: closing did not end; what is left on a server goes with the next start"))
    }

    @Test func aRunThatDoesNotHeedTheSignalEndsTheProgram() async {
        await #expect(processExitsWith: .exitCode(1)) {
            alarm(UInt32(TestOptions.deadline.components.seconds))
            let (signals, sender) = AsyncStream.makeStream(of: Int32.self)
            _ = try await Session.run(
                until: signals, closingWithin: .milliseconds(1), thenWithin: .milliseconds(1)
            ) { _ in
                sender.yield(2)
                await Gate().pass()
            }
        }
    }

    /// What it would say stays unsaid where nobody empties the pipe.
    @Test func aFullPipeDoesNotHoldUpTheEndOfTheProgram() async {
        await #expect(processExitsWith: .exitCode(1)) {
            alarm(UInt32(TestOptions.deadline.components.seconds))
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            try #require(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0)
            while write(ends[1], "x", 1) == 1 {}
            try #require(fcntl(ends[1], F_SETFL, 0) == 0)
            try #require(dup2(ends[1], 2) == 2)
            let (signals, _) = AsyncStream.makeStream(of: Int32.self)
            _ = try await Session.run(
                until: signals, closingWithin: .milliseconds(1), thenWithin: .milliseconds(1)
            ) { session in
                session.onEnd { await Gate().pass() }
            }
        }
    }
}
