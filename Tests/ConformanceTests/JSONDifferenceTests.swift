import PowerSyncConformance
import PowerSyncWire
import Testing

@Suite struct JSONDifferenceTests {
    private func lines(_ recorded: String, _ replayed: String) throws -> [String] {
        JSONDifference.lines(try JSON.parse(recorded), try JSON.parse(replayed))
    }

    @Test func equalValuesHaveNone() throws {
        #expect(try lines("{\"a\":[1,[2]]}", "{\"a\":[1,[2]]}").isEmpty)
    }

    @Test func showsOnlyTheMembersThatDiffer() throws {
        #expect(
            try lines(
                "[{\"Update\":{\"connected\":true,\"old\":1,\"streams\":[]}}]",
                "[{\"Update\":{\"connected\":false,\"new\":2,\"streams\":[]}}]")
                == [
                    "- [0].Update.connected: true", "+ [0].Update.connected: false", "+ [0].Update.new: 2",
                    "- [0].Update.old: 1",
                ])
    }

    @Test func showsAnInstructionThatIsMissingOrTooMany() throws {
        #expect(
            try lines("[{\"A\":{}},{\"B\":{}},{\"C\":{}}]", "[{\"B\":{}},{\"C\":{}},{\"D\":{}}]")
                == ["- [0]: {\"A\":{}}", "+ [2]: {\"D\":{}}"])
    }

    @Test func showsOnlyTheRowsThatDifferThoseOfOneKeySideBySide() throws {
        #expect(
            try lines(
                "[[\"a\",1],[\"b\",2],[\"c\",3],[\"c\",3]]", "[[\"a\",1],[\"b\",9],[\"c\",3],[\"d\",4]]")
                == [
                    "- [\"b\",2]", "+ [\"b\",9]", "- [\"c\",3]", "+ [\"d\",4]",
                ])
    }

    @Test func aRowStandsBesideTheOneThatIsMostLikeIt() throws {
        #expect(
            try lines(
                "[[\"b\",1,\"x\"],[\"b\",2,\"x\"]]", "[[\"b\",1,\"a\"],[\"b\",2,\"a\"],[\"b\",3,\"a\"]]") == [
                    "- [\"b\",1,\"x\"]", "+ [\"b\",1,\"a\"]", "- [\"b\",2,\"x\"]", "+ [\"b\",2,\"a\"]",
                    "+ [\"b\",3,\"a\"]",
                ])
    }

    @Test func aRowThatIsThereTwiceInsteadOfOnceIsShownOnce() throws {
        #expect(try lines("[[1,2]]", "[[1,2],[1,2]]") == ["+ [1,2]"])
    }

    @Test func saysThatRowsAreInAnotherOrder() throws {
        #expect(
            try lines("[[1],[2],[3]]", "[[1],[3],[2]]") == ["the same rows in another order, from row 1 on"])
    }

    @Test func longListsAreNotComparedPairByPair() throws {
        let recorded = JSON.array((0..<2000).map { .integer($0) })
        let replayed = JSON.array((0..<2000).map { .integer($0 == 1500 ? 0 : $0) })
        #expect(
            JSONDifference.lines(recorded, replayed)
                == ["2000 recorded and 2000 replayed elements differ from 1500 on"])
    }

    @Test func valuesOfDifferentKindsAreShownWhole() throws {
        #expect(try lines("{\"a\":[1]}", "{\"a\":{}}") == ["- a: [1]", "+ a: {}"])
        #expect(try lines("1", "2") == ["- 1", "+ 2"])
    }
}
