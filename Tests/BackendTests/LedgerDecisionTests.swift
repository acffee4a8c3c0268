import PowerSyncBackend
import PowerSyncWire
import Testing

struct LedgerDecisionTests {
    private func claim(_ ids: [Int64?], name: String = "x", client: String? = "device") throws -> LedgerClaim
    {
        let operations = try ids.map {
            try Build.operation(.put, "lists", "row\($0 ?? 0)", "{\"name\":\"\(name)\"}", opID: $0)
        }
        return LedgerClaim(operations, txID: 7, userID: "u", clientID: client, attemptID: "a1")
    }

    private func entry(_ claim: LedgerClaim, generation: Int = 0) -> LedgerDecision.Entry {
        LedgerDecision.Entry(
            firstOpID: claim.firstOpID, generation: generation, bodyHash: claim.bodyHash, verdict: .applied,
            marks: Set(claim.operations.map(LedgerClaim.mark)))
    }

    @Test func theSameTransactionIsReplayed() throws {
        #expect(
            try LedgerDecision(claim([5, 6]), entries: [entry(claim([5, 6]))])
                == .replay(.applied, result: nil))
    }

    @Test func otherContentUnderTheSameNumbersIsExecuted() throws {
        let stored = [entry(try claim([5, 6])), entry(try claim([5, 6], name: "y"), generation: 1)]
        #expect(try LedgerDecision(claim([5, 6], name: "z"), entries: stored) == .generation(2))
    }

    @Test func operationsSeenInOtherGroupsAreSkipped() throws {
        #expect(try LedgerDecision(claim([5, 6, 7]), entries: [entry(claim([5, 6]))]) == .skip([0, 1]))
        #expect(try LedgerDecision(claim([6, 7]), entries: [entry(claim([5, 6]))]) == .skip([0]))
        #expect(try LedgerDecision(claim([5]), entries: [entry(claim([5, 6]))]) == .skip([0]))
        #expect(try LedgerDecision(claim([6], name: "other"), entries: [entry(claim([5, 6]))]) == .skip([]))
    }

    @Test func onlyNumberedOperationsOfANamedClientAreDurable() throws {
        #expect(try claim([1, 2]).isDurable)
        #expect(try !claim([1, nil]).isDurable)
        #expect(try !claim([1, 2], client: nil).isDurable)
        #expect(try claim([1], client: nil).clientID == "attempt:a1")
    }

    @Test func theDigestIsThatOfTheSpelling() throws {
        let one = LedgerClaim(
            [try Build.operation(.put, "t", "a", #"{"n":1.0}"#, opID: 1)], txID: 1, userID: "u",
            clientID: "c", attemptID: "")
        let two = LedgerClaim(
            [try Build.operation(.put, "t", "a", #"{"n":1.00}"#, opID: 1)], txID: 1, userID: "u",
            clientID: "c", attemptID: "")
        #expect(one.bodyHash != two.bodyHash)
        #expect(one.bodyHash.utf8.count == 64)
        #expect(LedgerClaim.mark(one.operations[0]).utf8.count == 32)
        #expect(LedgerClaim.mark(one.operations[0]).hasPrefix("0000000000000001"))
    }
}
