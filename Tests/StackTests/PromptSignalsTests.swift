import PowerSyncStack
import PowerSyncSystem
import Testing

struct PromptSignalsTests {
    private let signals = PromptSignals()
    private let cancelled = Lock(0)
    private let givenUp = Lock(0)

    /// Begins to read a line, which is there at once or not yet.
    private func type(isReading: Bool) {
        let givenUp = givenUp
        signals.onInterrupt(whileTyping: {
            givenUp.withLock { $0 += 1 }
            return isReading
        })
    }

    private func run() {
        let cancelled = cancelled
        signals.onInterrupt(whileRunning: { cancelled.withLock { $0 += 1 } })
    }

    @Test func withoutAPromptItIsASignalLikeAnyOther() {
        #expect(!signals.interrupt())
        type(isReading: true)
        #expect(signals.interrupt())
        signals.end()
        #expect(!signals.interrupt())
        #expect(givenUp.withLock { $0 } == 1)
    }

    @Test func itIsForWhatIsGoingOn() {
        type(isReading: true)
        #expect(signals.interrupt())
        run()
        #expect(cancelled.withLock { $0 } == 0)
        #expect(signals.interrupt())
        #expect(cancelled.withLock { $0 } == 1 && givenUp.withLock { $0 } == 1)
    }

    /// Between Enter and the moment at which what was typed runs.
    @Test func oneThatComesBetweenTwoThingsIsForTheNext() {
        type(isReading: false)
        #expect(signals.interrupt())
        run()
        #expect(cancelled.withLock { $0 } == 1)
        // And for that alone.
        run()
        #expect(cancelled.withLock { $0 } == 1)
    }

    /// Whoever gives a line up may find that it has just been read, and that what was typed runs.
    @Test func oneThatComesWhileTheNextThingBeginsIsForThat() {
        let (signals, cancelled) = (signals, cancelled)
        signals.onInterrupt(whileTyping: {
            signals.onInterrupt(whileRunning: { cancelled.withLock { $0 += 1 } })
            return false
        })
        #expect(signals.interrupt())
        #expect(cancelled.withLock { $0 } == 1)
        run()
        #expect(cancelled.withLock { $0 } == 1)
    }

    @Test func oneThatCameBeforeALineIsForWhatIsOver() {
        type(isReading: false)
        #expect(signals.interrupt())
        type(isReading: true)
        run()
        #expect(cancelled.withLock { $0 } == 0)
    }

    @Test func aNewSizeIsTold() {
        let told = Lock(0)
        signals.renew()
        signals.onRenewal { told.withLock { $0 += 1 } }
        signals.renew()
        #expect(told.withLock { $0 } == 1)
    }
}
