import PowerSyncCommandLine
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncBackend

@Suite(.patient())
struct StoreCallsTests {
    /// A disk on which a file of 5 GiB is made of its parts stops for nobody.
    @Test func whatAStoreHasDoneLateCounts() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        for isDeaf in [true, false] {
            let (store, gate) = (ScriptedStore(), Gate())
            store.put("k", size: 3)
            store.state.withLock { state in
                state.isDeaf = isDeaf
                state.onCall = { _ in
                    await withTaskCancellationHandler {
                        await gate.pass()
                    } onCancel: {
                        gate.open()
                    }
                }
            }
            let calls = StoreCalls(
                store: store, environment: BackendEnvironment(now: { 0 }), poller: poller,
                log: Log(label: "test") { _ in })
            do {
                let found = try await calls.call(until: .now + .milliseconds(1)) {
                    try await $0.head(key: "k")
                }
                #expect(isDeaf && found?.size == 3)
            } catch let problem as Problem {
                #expect(!isDeaf && problem.code == "STORE_UNAVAILABLE")
            }
            #expect(gate.arrivals == 1)
        }
    }
}
