import PowerSyncServiceEngine
import PowerSyncSyncRules
import PowerSyncWire

@testable import PowerSyncStack

/// What clients have to hold by all rows that there are, whatever has become of them before: computed on values, as
/// `conformance language` does.
struct EvaluationFromNothing {
    /// What is in a bucket.
    private struct Content: Equatable {
        /// The texts of each row of the client, one for each row of the source that it is made of.
        var texts: [SyncedBucket.RowName: [ExactText]] = [:]
        /// The sum of the checksums of their PUTs.
        var sum = Checksum.zero
    }

    /// Where a row of the source is seen.
    private struct Place: Hashable {
        let bucket: ExactText
        let name: SyncedBucket.RowName
    }

    private let plan: SyncPlan
    private let contents: [ExactText: Content]
    private let lookups: [LookupRead: [[ScalarValue]]]

    /// Evaluates rows.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - tables: The tables with all of their rows.
    init(_ plan: SyncPlan, _ tables: [ScriptedTables.Table]) {
        self.plan = plan
        let reading = RowReading(plan)
        var contents: [ExactText: Content] = [:]
        for table in tables {
            for row in table.rows {
                // Of several ways to one place the last one is seen.
                var seen: [Place: ExactText] = [:]
                for output in reading.outputs(of: row, in: table.name).outputs {
                    let name = SyncedBucket.RowName(type: output.table, id: ExactText(output.id))
                    seen[Place(bucket: output.bucket, name: name)] = Self.data(output.data)
                }
                for (place, data) in seen {
                    let sum = OperationChecksum.put(
                        type: place.name.type.text, id: place.name.id.text, data: data.text)
                    contents[place.bucket, default: Content()].texts[place.name, default: []].append(data)
                    contents[place.bucket]?.sum += sum
                }
            }
        }
        self.contents = contents.mapValues(Self.sorted)
        lookups = reading.lookups(tables.map { LanguageWorlds.Table(name: $0.name, rows: $0.rows) })
    }

    private static func sorted(_ content: Content) -> Content {
        Content(texts: content.texts.mapValues { $0.sorted() }, sum: content.sum)
    }

    /// The text of a row's columns (service 4.4).
    private static func data(_ columns: [(ExactText, ScalarValue)]) -> ExactText {
        let members = columns.map { name, value in
            let spelled =
                switch value {
                case .null, .blob: "null"
                case .integer(let integer): String(integer)
                case .wide(let integer): integer.digits.text
                case .real(let real): NumberText.real(real)
                case .text(let text): JSON.quoted(text.text)
                }
            return "\(JSON.quoted(name.text)):\(spelled)"
        }
        return ExactText("{\(members.joined(separator: ","))}")
    }

    /// The buckets of a request, each with what it is listed with; nil if the request is refused.
    private func buckets(of request: LanguageRequest) -> [ExactText: SyncStreamState.Terms]? {
        let resolution: Resolution
        do throws(RequestError) {
            resolution = try LanguageRun.resolution(of: request, by: plan, lookups)
        } catch {
            return nil
        }
        var buckets: [ExactText: SyncStreamState.Terms] = [:]
        for bucket in resolution.buckets {
            let reasons = bucket.reasons.map { reason -> ExactText in
                switch reason {
                case .isDefault: ExactText("default \(plan.streams[bucket.stream].name.text)")
                case .subscription(let number): ExactText("subscription \(number)")
                }
            }
            buckets[bucket.name] = SyncStreamState.Terms(
                priority: Int64(bucket.priority), reasons: reasons.sorted())
        }
        return buckets
    }

    /// Tells in what a client differs.
    ///
    /// - Parameters:
    ///   - client: What it has; nil if its request was refused, or is now.
    ///   - before: What was listed for it before the last commit; a bucket whose content has not changed is listed as it was
    ///     (3.14 D3).
    ///   - request: Its request.
    /// - Returns: A line for each difference.
    func differences(
        of client: SyncStreamState?, listedBefore before: [ExactText: SyncStreamState.Listing],
        from request: LanguageRequest
    ) -> [String] {
        let wanted = buckets(of: request)
        guard let client, let wanted else {
            return (client == nil) == (wanted == nil)
                ? [] : [client == nil ? "it is refused or has ended" : "it is not refused"]
        }
        var differences = client.broken
        if !client.isComplete { differences.append("the last checkpoint is not complete") }
        for label in client.unfit.sorted() {
            differences.append("\(label.text): its checksum is not the sum of what was sent")
        }
        for label in Set(wanted.keys).union(client.listed.keys).sorted() {
            guard let terms = wanted[label] else {
                differences.append("\(label.text): it is listed")
                continue
            }
            guard let listing = client.listed[label] else {
                differences.append("\(label.text): it is not listed")
                continue
            }
            differences += self.differences(of: client, label, listing, before[label], terms)
        }
        return differences
    }

    private func differences(
        of client: SyncStreamState, _ label: ExactText, _ listing: SyncStreamState.Listing,
        _ before: SyncStreamState.Listing?, _ terms: SyncStreamState.Terms
    ) -> [String] {
        var differences: [String] = []
        var told = terms
        if let before, before.checksum == listing.checksum, before.count == listing.count {
            told = SyncStreamState.Terms(
                priority: before.terms.priority, reasons: before.terms.reasons.sorted())
        }
        let reasons = listing.terms.reasons.sorted()
        if listing.terms.priority != told.priority || reasons != told.reasons {
            differences.append(
                "\(label.text): priority \(listing.terms.priority) for \(reasons.map(\.text)), "
                    + "not \(told.priority) for \(told.reasons.map(\.text))")
        }
        let held = client.held[label] ?? SyncedBucket()
        var content = Content(sum: held.reducedSum)
        for (key, text) in held.rows { content.texts[key.row, default: []].append(text) }
        content = Self.sorted(content)
        let expected = contents[label] ?? Content()
        for name in Set(content.texts.keys).union(expected.texts.keys) {
            let (has, needs) = (content.texts[name] ?? [], expected.texts[name] ?? [])
            if has == needs { continue }
            differences.append("\(label.text): \(name) is \(has.map(\.text)), not \(needs.map(\.text))")
        }
        if content.sum != expected.sum {
            differences.append("\(label.text): rows have the checksum \(content.sum), not \(expected.sum)")
        }
        return differences
    }
}
