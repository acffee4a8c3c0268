import Foundation
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// The language beside the real compiler and evaluator: `Tests/Fixtures/language`.
struct LanguageConformanceTests {
    /// Runs a file as `make test` does.
    private func run(_ file: String) throws -> [String] {
        let printed = Lock<[String]>([])
        var run = LanguageConformance { line in printed.withLock { $0.append(line) } }
        run.missing = try MissingJobs(
            parsing: try Repository.text("Tests/Fixtures/language/missing.txt"))
        let path = Repository.fixtures.appending(path: "language/\(file).jsonl").path
        let hasPassed = try run.run([path])
        let lines = printed.withLock { $0 }
        #expect(hasPassed, "\(lines.prefix(40).joined(separator: "\n"))")
        return lines
    }

    /// How many jobs the last lines of a report speak of.
    private func count(_ lines: [String]) -> Int {
        let listed = lines.first { $0.hasSuffix(" differ and are listed") }
        let numbers = [listed, lines.last].compactMap { $0 }.flatMap { line in
            line.split { !$0.isNumber }.compactMap { Int($0) }
        }
        return numbers.reduce(0, +)
    }

    @Test(.patient()) func expressions() throws { #expect(try count(run("expressions")) == 1500) }

    @Test(.patient()) func configurations() throws { #expect(try count(run("configurations")) == 1500) }

    @Test(.patient()) func mistakes() throws { #expect(try count(run("mistakes")) == 1500) }
}
