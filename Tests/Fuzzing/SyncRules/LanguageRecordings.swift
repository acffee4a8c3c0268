import Foundation
import PowerSyncWire

/// The configurations of `Tests/Fixtures`, as first inputs.
enum LanguageRecordings {
    /// Of the many of the compiler one in so many is enough to begin with.
    private static let distance = 15

    /// The texts of the scenarios of the service, and some of the configurations that the compiler was recorded with.
    static func configurations(_ fixtures: URL) throws -> [String] {
        let scenarios = try Recordings.read(fixtures.appending(path: "service/curated"))
        var texts = scenarios.compactMap { $0["sync_config"]?.stringValue }
        for file in ["configurations", "expressions", "mistakes"] {
            let lines = try String(
                contentsOf: fixtures.appending(path: "language/\(file).jsonl"), encoding: .utf8)
            for (number, line) in lines.split(separator: "\n").enumerated()
            where number.isMultiple(of: distance) {
                let job = try JSON.parse(String(line), limits: JSONLimits(depth: 512))
                if let text = job["yaml"]?.stringValue { texts.append(text) }
            }
        }
        return texts
    }

    /// The queries that stand in quotes there, each on its line.
    static func queries(_ fixtures: URL) throws -> [String] {
        var queries: [String] = []
        for text in try configurations(fixtures) {
            for query in text.matches(of: /SELECT [^\n]+/.ignoresCase()) {
                queries.append(String(query.0).trimmingCharacters(in: CharacterSet(charactersIn: "\"'")))
            }
        }
        return queries
    }
}
