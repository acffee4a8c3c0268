import PowerSyncServiceEngine
import PowerSyncSystem
import Testing

/// What the probes tell (service 1.9).
struct ServiceHealthTests {
    @Test func whoTakesNoStepIsNotAliveButForWaitsThatEndByThemselves() {
        let time = Lock(ContinuousClock.now)
        func pass(_ seconds: Int) { time.withLock { $0 += .seconds(seconds) } }
        let health = ServiceHealth(liveness: .seconds(10)) { time.withLock { $0 } }
        let link = health.link("a")
        pass(60)
        #expect(health.isAlive, "nothing has begun")
        link.step()
        pass(9)
        #expect(health.isAlive && health.sinceStep == .seconds(9))
        pass(1)
        #expect(!health.isAlive)
        link.step(before: .seconds(30))
        pass(39)
        #expect(health.isAlive)
        pass(1)
        #expect(!health.isAlive)
        link.isDown()
        #expect(health.isAlive, "a failed try is a step")
    }

    /// What is written while the source is waited for says nothing of how long that may take.
    @Test func whatGoesOnBesideAStepCutsItsTimeNotShort() {
        let time = Lock(ContinuousClock.now)
        func pass(_ seconds: Int) { time.withLock { $0 += .seconds(seconds) } }
        let health = ServiceHealth(liveness: .seconds(10)) { time.withLock { $0 } }
        let link = health.link("a")
        link.goesOn()
        #expect(health.sinceStep == .zero, "there is no link yet")
        link.step(before: .seconds(30))
        pass(5)
        link.goesOn()
        #expect(health.sinceStep == .zero)
        pass(34)
        #expect(health.isAlive)
        link.goesOn()
        pass(9)
        #expect(health.isAlive, "it has gone on behind that, too")
        pass(1)
        #expect(!health.isAlive)
    }

    @Test func oneLinkDoesNotHideAnother() {
        let time = Lock(ContinuousClock.now)
        let health = ServiceHealth(liveness: .seconds(10)) { time.withLock { $0 } }
        let (former, new) = (health.link("former"), health.link("new"))
        former.isDown()
        new.isHeard()
        #expect(!health.isConnected)
        former.step()
        #expect(!health.isConnected, "a step is no word of the source")
        former.isHeard()
        #expect(health.isConnected)
        new.step(before: .seconds(60))
        time.withLock { $0 += .seconds(11) }
        #expect(!health.isAlive)
        former.end()
        #expect(health.isAlive)
    }
}
