import PowerSyncServiceEngine
import Testing

struct SeenTransactionsTests {
    @Test func whatHadEndedIsSeen() throws {
        let seen = try #require(SeenTransactions(text: "10:14:10,12"))
        #expect((8...15).map { seen.contains($0) } == [true, true, false, true, false, true, false, false])
        #expect(seen.text == "10:14:10,12")
        #expect(try #require(SeenTransactions(text: "10:10:")).contains(9))
    }

    /// Ids have 64 bits, of which the stream tells the lower half.
    @Test func idsOfTheStreamAreTheNearest() throws {
        let seen = try #require(SeenTransactions(text: "12884901890:12884901893:12884901890"))
        #expect(seen.contains(.max) && seen.contains(1) && seen.contains(3))
        #expect(!seen.contains(2) && !seen.contains(5) && !seen.contains(1_000_000))
    }

    @Test(arguments: ["", "1:2", "1:x:", "1:2:3:4"])
    func anythingElseIsRefused(text: String) { #expect(SeenTransactions(text: text) == nil) }
}
