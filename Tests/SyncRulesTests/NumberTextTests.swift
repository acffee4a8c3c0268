import PowerSyncSyncRules
import Testing

/// Service 4.4 and 5.
struct NumberTextTests {
    @Test(arguments: [
        (314.0, "314.0"), (0.0, "0.0"), (1e20, "100000000000000000000.0"), (1e21, "1e+21"), (1e-7, "1e-7"),
        (1e-6, "0.000001"), (0.1, "0.1"), (-0.5, "-0.5"), (1.5e300, "1.5e+300"), (123456.789, "123456.789"),
        (16_777_216.0, "16777216.0"), (-1234.0, "-1234.0"), (1.0e16, "10000000000000000.0"),
        (0.00001234, "0.00001234"), (-Double.infinity, "-Infinity"),
    ])
    func dataSpellsRealsAsJavaScriptAndShowsThatTheyAreReal(_ value: Double, _ text: String) {
        #expect(NumberText.real(value) == text)
    }

    @Test func dataSpellsNotANumberBare() { #expect(NumberText.real(.nan) == "NaN") }

    @Test(arguments: [(314.0, "314"), (3.14, "3.14"), (1.0, "1"), (-2.0, "-2"), (1.5, "1.5")])
    func namesSpellWholeRealsAsIntegers(_ value: Double, _ text: String) {
        #expect(NumberText.normalized(value) == text)
    }
}
