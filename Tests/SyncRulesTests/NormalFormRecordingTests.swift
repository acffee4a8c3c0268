import Foundation
import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// What the real service makes of the conditions of edition 3: `Tests/Fixtures/language`.
struct NormalFormRecordingTests {
    /// What is told of conditions, but for where clients choose values.
    private static let names: [DiagnosticName] = [
        .mixesRowRequest, .mixesRequestRow, .mixesRowRow, .requestTablePartitioned, .unassociatedFilter,
        .tooManyTerms, .tooManyBucketsDefined,
    ]
    /// What leaves queries out of a document.
    private static let unread: [DiagnosticName] = [
        .keyNotText, .expectedMap, .expectedScalar, .expectedSequence, .streamsMissing,
    ]

    /// The jobs of edition 3 that can be read, with what ours makes of them.
    private func compiled(
        _ file: String
    ) throws -> [(job: RecordedJob, plan: SyncPlan?, ours: [RecordedLine])] {
        let tables = try RecordedJob.schema(file)
        return try RecordedJob.all(file).compactMap {
            job -> (job: RecordedJob, plan: SyncPlan?, ours: [RecordedLine])? in
            var broken = DiagnosticList()
            guard let document = DocumentReader.read(SourceText(job.yaml), &broken), document.edition == 3,
                !document.allDiagnostics.all.contains(where: { Self.unread.contains($0.name) })
            else { return nil }
            let config = SyncConfig.compile(job.yaml, schema: job.hasSchema ? tables : nil)
            return (job, config.plan, RecordedLine.lines(config.diagnostics, of: config.text))
        }
    }

    private func isOfConditions(_ message: String) -> Bool {
        Self.names.contains { name in
            let parts = name.text.components(separatedBy: "{}")
            return message.hasPrefix(parts[0]) && message.hasSuffix(parts[parts.count - 1])
        }
    }

    private func counted(_ lines: [RecordedLine]) -> [RecordedLine: Int] {
        Dictionary(lines.map { ($0, 1) }, uniquingKeysWith: +)
    }

    @Test(arguments: [("mistakes", 150), ("configurations", 250), ("expressions", 6)])
    func conditionsAreJudgedAsRecorded(_ file: String, _ least: Int) throws {
        var count = 0
        for (job, _, ours) in try compiled(file) {
            let refused = job.refused
            func chosen(_ lines: [RecordedLine]) -> [RecordedLine: Int] {
                counted(lines.filter { isOfConditions($0.message) && !refused.contains(job.number($0)) })
            }
            let theirs = chosen(job.lines)
            count += theirs.values.reduce(0, +)
            #expect(chosen(ours) == theirs, "\(file) \(job.id)")
        }
        #expect(count >= least, "\(count) were compared")
    }

    /// Of several calls in one term the first in the order of keys is told, which is by a hash that is not known: so
    /// what is compared is how many there are, and most of the places.
    @Test(arguments: ["mistakes", "configurations"])
    func callsThatClientsChooseAreToldAsOftenAsRecorded(_ file: String) throws {
        let message = DiagnosticName.unauthenticatedParameter.text
        var count = 0
        var same = 0
        for (job, _, ours) in try compiled(file) {
            let refused = job.refused
            func chosen(_ lines: [RecordedLine]) -> [RecordedLine] {
                lines.filter { $0.message == message && !refused.contains(job.number($0)) }
            }
            let (theirs, told) = (chosen(job.lines), chosen(ours))
            #expect(told.count == theirs.count, "\(file) \(job.id): \(told)")
            var left = counted(told)
            for line in theirs where left[line, default: 0] > 0 {
                left[line, default: 0] -= 1
                same += 1
            }
            count += theirs.count
        }
        #expect(count > 250 && same * 100 >= count * 85, "\(same) of \(count)")
    }

    @Test func bucketsHaveTheRecordedNamesAndAsManyValues() throws {
        var count = 0
        for (job, accepted, _) in try compiled("configurations") where job.isAccepted {
            let plan = try #require(accepted, "configurations \(job.id)")
            for table in job.result["rows"]?.objectMembers ?? [] {
                for made in (table.value.arrayValue ?? []).flatMap({ $0.arrayValue ?? [] }) {
                    guard let bucket = made["bucket"]?.stringValue else { continue }
                    count += 1
                    let parts = bucket.split(separator: "[", maxSplits: 1)
                    let source = plan.sources.first { $0.name.text == String(parts[0]) }
                    let values = try JSON.parse("[" + String(parts[1])).arrayValue ?? []
                    let name = NamePart.exact(ExactText(table.name))
                    let processors = (source?.processors ?? []).filter {
                        $0.table.name == name && $0.keys.count == values.count
                    }
                    #expect(!processors.isEmpty, "configurations \(job.id): \(bucket) of \(table.name)")
                }
            }
            for request in job.result["requests"]?.arrayValue ?? [] {
                for found in request["buckets"]?.arrayValue ?? [] {
                    let bucket = found["bucket"]?.stringValue ?? ""
                    let name = bucket.split(separator: "[", maxSplits: 1).first.map { String($0) }
                    let names = plan.sources.map(\.name.text)
                    #expect(name.map { names.contains($0) } == true, "configurations \(job.id): \(bucket)")
                }
            }
        }
        #expect(count > 3_000, "\(count) were compared")
    }
}
