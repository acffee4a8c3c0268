import PowerSyncWire

/// Finds the order in which the values of a source's buckets stand in the recording.
///
/// The real service orders them by a hash that is not known (LANGUAGE.md 5), so one order for all rows and requests of a
/// source counts as equal, and is counted.
enum KeyPermutation {
    /// Names with more values have the order that they have.
    private static let limit = 6

    /// The orders of sources whose values stand in another one.
    ///
    /// - Parameters:
    ///   - ours: what ours makes.
    ///   - recorded: what is recorded.
    /// - Returns: for each such source which of its values comes first, second and so on: of all orders the first one by
    ///   which most of it is as recorded.
    static func orders(of ours: [LanguageItem], in recorded: [LanguageItem]) -> [ExactText: [Int]] {
        let (expected, made) = (bySource(recorded), bySource(ours))
        var orders: [ExactText: [Int]] = [:]
        for (source, items) in made {
            let counts = Set(items.map { $0.bucket?.values.count ?? 0 })
            guard let count = counts.first, counts.count == 1, (2...limit).contains(count),
                let expected = expected[source]
            else { continue }
            var best = (order: Array(0..<count), common: common(items, expected))
            for order in permutations(count) where best.common < items.count {
                let found = common(items.map { $0.reordered(order) }, expected)
                if found > best.common { best = (order: order, common: found) }
            }
            if best.order != Array(0..<count) { orders[source] = best.order }
        }
        return orders
    }

    /// The items that have a bucket, by its source.
    private static func bySource(_ items: [LanguageItem]) -> [ExactText: [LanguageItem]] {
        var bySource: [ExactText: [LanguageItem]] = [:]
        for item in items {
            guard let source = item.bucket?.source else { continue }
            bySource[source, default: []].append(item)
        }
        return bySource
    }

    /// How many items two lists have in common.
    private static func common(_ ours: [LanguageItem], _ recorded: [LanguageItem]) -> Int {
        var counts: [LanguageItem: Int] = [:]
        for item in recorded { counts[item, default: 0] += 1 }
        var common = 0
        for item in ours {
            guard let count = counts[item], count > 0 else { continue }
            counts[item] = count - 1
            common += 1
        }
        return common
    }

    /// All orders of so many values, by their numbers.
    private static func permutations(_ count: Int) -> [[Int]] {
        var orders: [[Int]] = [[]]
        for _ in 0..<count {
            orders = orders.flatMap { order -> [[Int]] in
                (0..<count).filter { !order.contains($0) }.map { order + [$0] }
            }
        }
        return orders
    }
}
