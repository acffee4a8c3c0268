import Testing

@testable import PowerSync

@Suite struct RetryPolicyTests {
    @Test func mismatchesAreNeverAskedForAtFullPace() {
        var policy = RetryPolicy(base: .zero)
        let delays = (0..<4).map { _ in
            _ = policy.mismatched()
            return policy.delayAfterMismatch(random: 0.5)
        }
        #expect(delays == [0, 2, 4, 8].map { .seconds($0) })
        #expect(policy.delay(random: 0.5) == .zero)
    }
}
