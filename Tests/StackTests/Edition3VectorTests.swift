import Foundation
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Service 9.5, a case for each number: `Tests/Fixtures/vectors`.
struct Edition3VectorTests {
    private static let count = 52

    @Test(arguments: 1...Edition3VectorTests.count)
    func vectors(_ number: Int) throws {
        let printed = Lock<[String]>([])
        var run = LanguageConformance { line in printed.withLock { $0.append(line) } }
        run.only = NumberRanges("\(number)")
        let path = Repository.fixtures.appending(path: "vectors/edition3.jsonl").path
        // A number without a line is an error.
        let hasPassed = try run.run([path])
        #expect(hasPassed, "T\(number): \(printed.withLock { $0 }.joined(separator: "\n"))")
    }

    @Test func everyNumberHasAnExpectation() throws {
        #expect(try Repository.vectorNumbers("T") == Set(1...Self.count))
    }
}
