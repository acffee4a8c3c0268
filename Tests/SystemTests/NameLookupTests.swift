import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct NameLookupTests {
    private let one = [IPAddress("192.0.2.1")].compactMap { $0 }

    @Test func theSystemFindsThisMachine() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let found = try #require(
            try await poller.addresses(of: "localhost", until: .now + TestOptions.deadline))
        #expect(found.map(\.description).contains { $0 == "127.0.0.1" || $0 == "::1" })
        #expect(
            try await poller.addresses(of: "127.1", until: .now + TestOptions.deadline)?.map(\.description)
                == ["127.0.0.1"])
    }

    @Test func aNameThatNobodyHasIsSaidSo() async throws {
        let poller = try Poller(
            names: NameLookup { _ in .failure(SystemError(.nameLookup, "Name or service not known")) })
        defer { poller.stop() }
        let error = await #expect(throws: SystemError.self) {
            _ = try await poller.addresses(of: "nowhere", until: .now + TestOptions.deadline)
        }
        #expect(error?.code == .nameLookup && error?.description == "Name or service not known")
    }

    @Test func aLookUpThatDoesNotEndHoldsNobodyUp() async throws {
        let gate = BlockingGate()
        let one = one
        let names = NameLookup(limit: 2) { _ in
            gate.wait()
            return .success(one)
        }
        let poller = try Poller(names: names)
        defer { poller.stop() }
        /// Asks until so many look-ups have begun, which on a busy machine the first deadline may not allow.
        func ask(_ name: String, until count: Int) async throws {
            var limit = Duration.milliseconds(20)
            repeat {
                let found = try await poller.addresses(of: name, until: .now + limit)
                #expect(found == nil)
                limit *= 2
            } while names.count < count
        }
        // Who asks for the same name again takes no other thread.
        for _ in 0..<5 { try await ask("slow", until: 1) }
        #expect(names.count == 1)
        try await ask("slower", until: 2)
        // Their number is bounded.
        let error = await #expect(throws: SystemError.self) {
            _ = try await poller.addresses(of: "third", until: .now + TestOptions.deadline)
        }
        #expect(error?.code == .nameLookup)
        let late = Task { try await poller.addresses(of: "slow", until: .now + TestOptions.deadline) }
        try await wait(for: "both threads") { gate.arrivals == 2 }
        gate.open()
        #expect(try await wait(forEndOf: late) == one)
        try await wait(for: "the threads to end") { names.count == 0 }
    }

    @Test func aLookUpCanBeCancelled() async throws {
        let gate = BlockingGate()
        defer { gate.open() }
        let poller = try Poller(
            names: NameLookup { _ in
                gate.wait()
                return .success([])
            })
        defer { poller.stop() }
        let task = Task { try await poller.addresses(of: "slow", until: .now + .seconds(3600)) }
        try await wait(for: "the look-up") { gate.arrivals == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: task) }
    }
}
