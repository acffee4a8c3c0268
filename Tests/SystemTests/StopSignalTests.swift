import PowerSyncSystem
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

@Suite(.serialized, .timeLimit(.minutes(1)))
struct StopSignalTests {
    @Test func everyListenerGetsEachArrival() async {
        var one = StopSignal.stream().makeAsyncIterator()
        var two = StopSignal.stream().makeAsyncIterator()
        for signal in [SIGTERM, SIGINT, SIGTERM] {
            kill(getpid(), signal)
            #expect(await one.next() == signal)
            #expect(await two.next() == signal)
        }
    }

    @Test func moreStreamsThanThereArePlacesCanBeUsedOneAfterAnother() async {
        for _ in 0..<100 {
            var iterator = StopSignal.stream().makeAsyncIterator()
            kill(getpid(), SIGINT)
            #expect(await iterator.next() == SIGINT)
        }
    }

    @Test func aCancelledListenerGivesTheSignalsBack() async {
        await #expect(processExitsWith: .signal(SIGTERM)) {
            let task = Task { for await _ in StopSignal.stream() {} }
            task.cancel()
            await task.value
            kill(getpid(), SIGTERM)
        }
    }
}
