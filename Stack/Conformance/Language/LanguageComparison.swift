import PowerSyncSyncRules
import PowerSyncWire

/// Compares what ours makes of a job with what is recorded.
struct LanguageComparison: Sendable {
    /// What differs at one place.
    struct Difference: Sendable {
        /// The place: `messages`, a row, a request.
        let title: String
        /// What is recorded and ours has not.
        let missing: [String]
        /// What ours has and is not recorded.
        let extra: [String]
    }

    /// What differs; none if all is equal.
    let differences: [Difference]
    /// Whether values of bucket names stand in another order, and all the same one.
    let isReordered: Bool

    /// Compares.
    ///
    /// - Parameters:
    ///   - job: what is recorded.
    ///   - config: what ours makes of its configuration.
    ///   - tables: the tables of its world.
    init(_ job: LanguageJob, _ config: CompiledConfig, _ tables: [LanguageWorlds.Table]) {
        let messages = MessageComparison.differences(of: LanguageMessage.all(of: config), from: job.messages)
        var differences: [Difference] = []
        if !messages.missing.isEmpty || !messages.extra.isEmpty {
            differences.append(
                Difference(title: "messages", missing: messages.missing, extra: messages.extra))
        }
        var isReordered = false
        // Without a plan it is fatal, which the messages tell.
        if let recorded = job.items, let plan = config.plan {
            let ours = LanguageRun.items(plan, tables, job.requests)
            let orders = KeyPermutation.orders(of: ours, in: recorded)
            isReordered = !orders.isEmpty
            let ordered = ours.map { item in
                (item.bucket.flatMap { orders[$0.source] }).map { item.reordered($0) } ?? item
            }
            differences += Self.differences(of: ordered, from: recorded)
        } else if job.items != nil, messages.missing.isEmpty, messages.extra.isEmpty {
            differences.append(
                Difference(title: "plan", missing: ["one that can be used"], extra: ["none"]))
        }
        self.differences = differences
        self.isReordered = isReordered
    }

    /// The places at which two multisets differ, in the order in which they are named first.
    private static func differences(
        of ours: [LanguageItem], from recorded: [LanguageItem]
    ) -> [Difference] {
        var counts: [LanguageItem: Int] = [:]
        for item in recorded { counts[item, default: 0] += 1 }
        var extra: [LanguageItem.Place: [String]] = [:]
        for item in ours {
            if let count = counts[item], count > 0 {
                counts[item] = count - 1
            } else {
                extra[item.place, default: []].append(item.text)
            }
        }
        var missing: [LanguageItem.Place: [String]] = [:]
        for item in recorded {
            guard let count = counts[item], count > 0 else { continue }
            counts[item] = count - 1
            missing[item.place, default: []].append(item.text)
        }
        var seen: Set<LanguageItem.Place> = []
        let places = (recorded + ours).map(\.place).filter { seen.insert($0).inserted }
        return places.filter { missing[$0] != nil || extra[$0] != nil }.map { place in
            Difference(title: place.title, missing: missing[place] ?? [], extra: extra[place] ?? [])
        }
    }
}
