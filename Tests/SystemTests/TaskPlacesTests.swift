import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct TaskPlacesTests {
    @Test func soManyAreInWorkSoManyWaitAndTheNextIsRefused() async throws {
        let places = TaskPlaces(TaskPlaces.Limits(active: 2, waiting: 3))
        let gate = Gate()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<5 { group.addTask { try await places.run { await gate.pass() } } }
            try await wait(for: "all places to be taken") {
                places.counts == TaskPlaces.Limits(active: 2, waiting: 3)
            }
            #expect(gate.arrivals == 2)
            await #expect(throws: TaskPlaces.Full.self) { try await places.run {} }
            gate.open()
            try await group.waitForAll()
        }
        #expect(gate.arrivals == 5)
        try await places.run {}
        #expect(places.counts == TaskPlaces.Limits(active: 0, waiting: 0))
    }

    @Test func whoWaitsComesInTurnAndWhoLeavesLosesIt() async throws {
        let places = TaskPlaces(TaskPlaces.Limits(active: 1, waiting: 3))
        let gate = Gate()
        let order = Lock<[Int]>([])
        let first = Task { try await places.run { await gate.pass() } }
        try await wait(for: "the place to be taken") { gate.arrivals == 1 }
        var others: [Task<Void, any Error>] = []
        for number in 1...3 {
            others.append(Task { try await places.run { order.withLock { $0.append(number) } } })
            try await wait(for: "number \(number) to wait") { places.counts.waiting == number }
        }
        others[1].cancel()
        await #expect(throws: CancellationError.self) { try await others[1].value }
        gate.open()
        try await first.value
        for other in [others[0], others[2]] { try await other.value }
        #expect(order.withLock { $0 } == [1, 3])
    }

    @Test func aFailureFreesThePlace() async throws {
        struct Failure: Error {}
        let places = TaskPlaces(TaskPlaces.Limits(active: 1, waiting: 0))
        await #expect(throws: Failure.self) { try await places.run { throw Failure() } }
        try await places.run {}
    }
}
