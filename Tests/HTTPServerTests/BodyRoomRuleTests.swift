import Testing

@testable import PowerSyncHTTPServer

/// Who may take room for a body, without anybody waiting.
struct BodyRoomRuleTests {
    /// Takes a step if it may be taken; says whether it was.
    private func take(_ bytes: Int, _ body: UInt64, _ rule: inout BodyRoomRule) -> Bool {
        let step = BodyRoomRule.Step(body: body, bytes: bytes)
        guard rule.next([step]) == 0 else { return false }
        rule.grant(step)
        return true
    }

    /// Whatever comes in turn: all come to their end, and never is there more than the room and one body.
    @Test(arguments: 1...20)
    func bodiesThatAreHalfReadNeverWaitForOneAnother(seed: UInt64) throws {
        var random = seed
        func below(_ end: Int) -> Int {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(random >> 33) % end
        }
        let (total, longest) = (1_000, 400)
        var rule = BodyRoomRule(total)
        var open: [(id: UInt64, lacks: Int)] = []
        var started = 0
        var ended = 0
        while ended < 200 {
            if started < 200, open.isEmpty || below(3) == 0 {
                open.append((rule.add(), 1 + below(longest)))
                started += 1
            }
            // All try once, beginning anywhere: somebody gets on, or is done and leaves.
            let first = below(open.count)
            var hasGone = false
            for offset in open.indices {
                let index = (first + offset) % open.count
                let step = min(50, open[index].lacks)
                guard take(step, open[index].id, &rule) else { continue }
                hasGone = true
                open[index].lacks -= step
            }
            try #require(hasGone && rule.taken <= total + longest)
            for body in open where body.lacks == 0 {
                rule.remove(body.id)
                ended += 1
            }
            open.removeAll { $0.lacks == 0 }
        }
        #expect(rule.taken == 0)
    }

    @Test func theOldestGoesOnAndOlderOnesGoFirst() {
        var rule = BodyRoomRule(100)
        let bodies = (0..<6).map { _ in rule.add() }
        #expect(take(60, bodies[1], &rule))
        #expect(!take(41, bodies[2], &rule) && take(40, bodies[3], &rule))
        #expect(take(1_000, bodies[0], &rule), "the oldest waits for nobody")
        #expect(!take(1, bodies[1], &rule))
        rule.remove(bodies[0])
        let steps = [3, 1, 2].map { BodyRoomRule.Step(body: bodies[$0], bytes: 10) }
        #expect(rule.next(steps) == 1, "the next one is the oldest now")
    }

    @Test func thoseBehindTheFirstFourHaveHalfOfIt() {
        var rule = BodyRoomRule(100)
        let bodies = (0..<6).map { _ in rule.add() }
        #expect(take(50, bodies[4], &rule) && !take(1, bodies[5], &rule))
        #expect(take(50, bodies[3], &rule))
    }

    @Test func whoIsRemovedWhileItWaitsTakesNothing() {
        var rule = BodyRoomRule(100)
        let bodies = (0..<2).map { _ in rule.add() }
        #expect(take(100, bodies[0], &rule) && !take(10, bodies[1], &rule))
        rule.remove(bodies[1])
        rule.remove(bodies[1])
        #expect(take(10, bodies[1], &rule), "it need not wait any longer")
        #expect(rule.taken == 100)
        rule.giveBack(40, of: bodies[0])
        rule.giveBack(40, of: bodies[1])
        #expect(rule.taken == 60)
    }
}
