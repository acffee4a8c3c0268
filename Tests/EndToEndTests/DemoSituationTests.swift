import PowerSyncStack
import PowerSyncTestSupport
import Testing

/// The main job, on real parts: what the demo shows, without the show.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct DemoSituationTests {
    @Test func theFiveSituationsOfTheDemoComeTrue() async throws {
        try await EndToEnd.withWorld { world in
            try await world.localWriteArrives()
            try await world.editsWhileCutOffConverge()
            try await world.refusedRowIsKept()
            try await world.manyRowsArrive(3_000)
            try await world.checkThirdDevice()
            try await world.pictureFollowsItsRow()
            let rows = try await world.converge()
            #expect(rows.count == 3_005)
        }
    }
}
