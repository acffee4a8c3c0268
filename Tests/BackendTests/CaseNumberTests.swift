import PowerSyncContractCases
import Testing

struct CaseNumberTests {
    @Test func casesStandInTheOrderOfTheContract() {
        let texts = ["10", "9", "44b", "44", "44a", "102b", "180"]
        let numbers = texts.compactMap { CaseNumber($0) }.sorted()
        #expect(numbers.map(\.description) == ["9", "10", "44", "44a", "44b", "102b", "180"])
    }

    @Test(arguments: ["", "a", "0", "046", "-1", "+1", "1ab", "1A", "1 ", "1é", "９", "99999999999999999999"])
    func whatIsSpelledOtherwiseIsNone(text: String) {
        #expect(CaseNumber(text) == nil)
    }
}
