import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Each in a process of its own: a signal is for a whole process, and so are its actions.
@Suite(.patient())
struct StopSignalTests {
    @Test func everyListenerGetsEachArrival() async {
        await #expect(processExitsWith: .success) {
            var one = StopSignal.stream().makeAsyncIterator()
            var two = StopSignal.stream().makeAsyncIterator()
            for signal in [SIGTERM, SIGINT, SIGHUP, SIGTERM] {
                kill(getpid(), signal)
                #expect(await one.next() == signal)
                #expect(await two.next() == signal)
            }
        }
    }

    @Test func moreStreamsThanThereArePlacesCanBeUsedOneAfterAnother() async {
        await #expect(processExitsWith: .success) {
            for _ in 0..<100 {
                var iterator = StopSignal.stream().makeAsyncIterator()
                kill(getpid(), SIGINT)
                #expect(await iterator.next() == SIGINT)
            }
        }
    }

    @Test func aCancelledListenerGivesSIGTERMBack() async {
        await #expect(processExitsWith: .signal(SIGTERM)) { await Self.endByASignal(SIGTERM) }
    }

    @Test func aCancelledListenerGivesSIGHUPBack() async {
        await #expect(processExitsWith: .signal(SIGHUP)) { await Self.endByASignal(SIGHUP) }
    }

    private static func endByASignal(_ number: Int32) async {
        let task = Task { for await _ in StopSignal.stream() {} }
        task.cancel()
        await task.value
        kill(getpid(), number)
        // Another thread may take the signal, a moment after this call: the end has to come before this one's.
        sleep(UInt32(TestOptions.deadline.components.seconds))
    }

    /// As under `nohup`.
    @Test func anIgnoredSIGHUPStaysIgnoredWithAListenerAndAfterIt() async {
        await #expect(processExitsWith: .success) {
            signal(SIGHUP, SIG_IGN)
            let task = Task {
                var iterator = StopSignal.stream().makeAsyncIterator()
                var seen: [Int32] = []
                // A SIGHUP that counted would be among them, whichever of the two signals were handled first.
                for _ in 0..<2 {
                    kill(getpid(), SIGHUP)
                    kill(getpid(), SIGTERM)
                    seen.append(await iterator.next() ?? 0)
                }
                return seen
            }
            #expect(await task.value == [SIGTERM, SIGTERM])
            kill(getpid(), SIGHUP)
        }
    }

    /// Each SIGHUP is for who reads again, and none for who ends; the end is none for who reads again.
    @Test func aHangUpThatIsNoStopIsToldToWhoReadsAgain() async {
        await #expect(processExitsWith: .success) {
            var reload = ReloadSignal.stream().makeAsyncIterator()
            var stop = StopSignal.stream(hangUp: false).makeAsyncIterator()
            for _ in 0..<2 {
                kill(getpid(), SIGHUP)
                #expect(await reload.next() == SIGHUP)
                kill(getpid(), SIGTERM)
                #expect(await stop.next() == SIGTERM)
            }
        }
    }

    @Test func aStopWithoutTheHangUpLeavesItWhatItIs() async {
        await #expect(processExitsWith: .signal(SIGHUP)) {
            let task = Task { for await _ in StopSignal.stream(hangUp: false) {} }
            var stop = StopSignal.stream(hangUp: false).makeAsyncIterator()
            kill(getpid(), SIGTERM)
            #expect(await stop.next() == SIGTERM)
            kill(getpid(), SIGHUP)
            sleep(UInt32(TestOptions.deadline.components.seconds))
            task.cancel()
        }
    }

    @Test func theLastWhoReadsAgainGivesTheHangUpBack() async {
        await #expect(processExitsWith: .signal(SIGHUP)) {
            let task = Task { for await _ in ReloadSignal.stream() {} }
            task.cancel()
            await task.value
            kill(getpid(), SIGHUP)
            sleep(UInt32(TestOptions.deadline.components.seconds))
        }
    }

    /// Neither kind of stream gets what is for the other, and the last stream of a kind gives that kind back alone.
    @Test func aScreenIsToldOfItsSizeOfGoingOnAndOfQuittingAndOfNothingElse() async {
        await #expect(processExitsWith: .signal(SIGTERM)) {
            let task = Task {
                var screen = ScreenSignal.stream().makeAsyncIterator()
                var stop = StopSignal.stream().makeAsyncIterator()
                for signal in [SIGWINCH, SIGCONT, SIGQUIT] {
                    kill(getpid(), SIGINT)
                    #expect(await stop.next() == SIGINT)
                    kill(getpid(), signal)
                    #expect(await screen.next() == signal)
                }
            }
            await task.value
            let rest = Task { for await _ in StopSignal.stream() {} }
            rest.cancel()
            await rest.value
            kill(getpid(), SIGWINCH)
            kill(getpid(), SIGTERM)
            sleep(UInt32(TestOptions.deadline.components.seconds))
        }
    }
}
