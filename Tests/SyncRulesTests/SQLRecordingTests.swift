import Foundation
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import PowerSyncYAML
import Testing

/// Which queries are SQL, as the real service's parser sees it: `Tests/Fixtures/language`.
struct SQLRecordingTests {
    /// One recorded configuration.
    private struct Job {
        let id: Int64
        let yaml: String
        /// What is fatal in it: the message, and the line of the YAML.
        let errors: [(message: String, line: Int)]
        /// All that was said of it: the message, the line, and what of the YAML it is about.
        let places: [(message: String, line: Int, part: String)]

        init?(_ line: Substring) throws {
            let json = try JSON.parse(String(line))
            guard let id = json["id"]?.int64Value, let yaml = json["yaml"]?.stringValue else { return nil }
            self.id = id
            self.yaml = yaml
            let units = Array(yaml.utf16)
            var errors: [(message: String, line: Int)] = []
            var places: [(message: String, line: Int, part: String)] = []
            for error in json["result"]?["errors"]?.arrayValue ?? [] {
                guard let message = error["message"]?.stringValue else { continue }
                let start = min(Int(error["start"]?.int64Value ?? 0), units.count)
                let end = min(Int(error["end"]?.int64Value ?? 0), units.count)
                let line = units[..<start].count { $0 == 0x0A } + 1
                if error["level"]?.stringValue == "fatal" { errors.append((message, line)) }
                // All queries stand in double quotes, on one line, and quotes and backslashes alone are escaped in them.
                let part = String(decoding: units[start..<max(start, end)], as: UTF16.self)
                    .replacingOccurrences(of: "\\\"", with: "\"")
                    .replacingOccurrences(of: "\\\\", with: "\\")
                places.append((message, line, part))
            }
            self.errors = errors
            self.places = places
        }

        /// The lines on which there is an error of the real service's SQL parser.
        var refusedLines: Set<Int> {
            let texts = ["Syntax error at", "Unexpected end of input", "invalid syntax at"]
            return Set(errors.filter { error in texts.contains { error.message.hasPrefix($0) } }.map(\.line))
        }
    }

    private func jobs(_ file: String) throws -> [Job] {
        let text = String(decoding: try Repository.fixture("language/\(file).jsonl"), as: UTF8.self)
        return try text.split(separator: "\n").compactMap { try Job($0) }
    }

    /// The queries of a configuration with their lines; no recorded one has several lines.
    private func queries(_ root: YAMLNode) -> [(sql: String, line: Int)] {
        var nodes: [YAMLNode] = root["with"]?.pairs?.map(\.value) ?? []
        for (_, stream) in root["streams"]?.pairs ?? [] {
            nodes += stream["with"]?.pairs?.map(\.value) ?? []
            nodes += stream["queries"]?.elements ?? []
            nodes += stream["query"].map { [$0] } ?? []
        }
        for (_, definition) in root["bucket_definitions"]?.pairs ?? [] {
            nodes += definition["data"]?.elements ?? []
            nodes += definition["parameters"].map { $0.elements ?? [$0] } ?? []
        }
        return nodes.compactMap { node in node.string.map { (sql: $0, line: node.line) } }
    }

    /// Whether a query is no SQL, or does not begin with a SELECT: the grammar of other statements is not ours.
    private func isRefused(_ sql: String) -> Bool {
        do throws(SyntaxError) {
            if case .other? = try SQLParser.parse(Array(sql.utf8)).first { return true }
            return false
        } catch {
            return true
        }
    }

    /// Whether all queries of a job were compiled: edition 1 leaves data queries out behind an error of parameters, and
    /// what is wrong in another place than a query may leave out all of them.
    private func compilesAll(_ job: Job, _ root: YAMLNode, _ lines: Set<Int>) -> Bool {
        if job.errors.isEmpty { return true }
        let edition = root["config"]?["edition"]?.int ?? 1
        return edition > 1 && job.errors.allSatisfy { lines.contains($0.line) }
    }

    @Test(arguments: [
        ("expressions", 900, 90), ("configurations", 3_000, 0), ("mistakes", 800, 400),
    ])
    func queriesAreSQLOrNotAsRecorded(_ file: String, _ leastAccepted: Int, _ leastRefused: Int) throws {
        var (accepted, refused) = (0, 0)
        for job in try jobs(file) {
            // Some are no YAML, on purpose; what is none for libyaml alone has no SQL to compare.
            guard let root = try? YAMLNode.parse(job.yaml), root.pairs != nil else { continue }
            let queries = queries(root)
            let refusedLines = job.refusedLines
            for line in refusedLines {
                let here = queries.filter { $0.line == line }
                guard !here.isEmpty else { continue }
                #expect(here.contains { isRefused($0.sql) }, "\(file) \(job.id) is accepted: \(here)")
                refused += 1
            }
            guard compilesAll(job, root, Set(queries.map(\.line))) else { continue }
            for (sql, line) in queries where !refusedLines.contains(line) {
                #expect(!isRefused(sql), "\(file) \(job.id) is refused: \(sql)")
                accepted += 1
            }
        }
        #expect(accepted >= leastAccepted, "\(accepted) were accepted")
        #expect(refused >= leastRefused, "\(refused) were refused")
    }

    /// Beginnings of messages whose range is that of an expression, of a function's name, of a type, of a SELECT.
    private static let kinds: [(message: String, kind: SyntaxParts.Kind)] = [
        ("LIKE expressions", .expression), ("Unsupported binary", .expression), ("Unary minus", .expression),
        ("This expression is not supported", .expression), ("CAST not", .expression),
        ("case not", .expression), ("ternary not", .expression), ("array not", .expression),
        ("list not", .expression), ("Operator ", .expression), ("Function ", .expression),
        ("Unsupported member", .expression), ("Left and right", .expression), ("Negations", .expression),
        ("Sync streams can only select from actual", .expression), ("Unable to", .expression),
        ("Invalid unqualified", .expression), ("Clients can send", .expression),
        ("Column not found.", .expression), ("Unknown function", .name), ("Forbidden call", .name),
        ("Invalid SQLite cast", .type), ("Invalid position for", .select), ("Must return a single", .select),
    ]

    @Test(arguments: [("expressions", 350), ("mistakes", 500)])
    func recordedRangesAreThoseOfTheTree(_ file: String, _ least: Int) throws {
        var count = 0
        for job in try jobs(file) {
            // As above.
            guard let root = try? YAMLNode.parse(job.yaml), root.pairs != nil else { continue }
            let queries = queries(root)
            for place in job.places {
                guard let kind = Self.kinds.first(where: { place.message.hasPrefix($0.message) })?.kind
                else { continue }
                let here = queries.filter { $0.line == place.line && !isRefused($0.sql) }
                guard !here.isEmpty else { continue }
                let isThere = here.contains { SyntaxParts($0.sql).texts(kind).contains(place.part) }
                #expect(isThere, "\(file) \(job.id): \(place.part) of \(place.message)")
                count += 1
            }
        }
        #expect(count >= least, "\(count) ranges")
    }
}
