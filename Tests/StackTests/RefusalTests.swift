import PowerSyncSystem
import Testing

@testable import PowerSyncStack

struct RefusalTests {
    @Test(arguments: [
        (
            "error: the sync service's metrics cannot listen: port 38271 on 0.0.0.0 is already in use; stop the program",
            true
        ),
        ("Error: listen EADDRINUSE: address already in use :::8080", true),
        ("error: line 9, column 46: IN is not supported by this service.", false), ("", false),
    ])
    func aPortThatSomebodyElseHasIsNoFaultOfTheScenario(said: String, isAboutAPort: Bool) {
        #expect(ScenarioService.Refusal(said: said, status: .exited(150)).isAboutAPort == isAboutAPort)
    }
}
