/// A bounded amount of something that tasks take parts of for a while.
///
/// An eighth is kept for small amounts, those that fit into it: large ones never take it, so that none of them, in work
/// or waiting, holds up everybody. While a large one waits the small ones have no more than this eighth, so that they
/// cannot starve it. Among large ones, and among small ones, whoever comes first is served first. Who wants more than
/// the seven eighths counts as if it wanted just them, so that nothing is too large for ever.
package final class Budget: Sendable {
    /// Why nothing was taken.
    package typealias Refusal = WaitingRefusal

    private let line: WaitingLine<BudgetRule>

    /// Makes a budget of which nothing is taken.
    ///
    /// - Parameters:
    ///   - total: the amount.
    ///   - mostWaiting: how many tasks may wait; one more is refused.
    ///   - poller: tells when deadlines have passed.
    package init(_ total: Int, mostWaiting: Int = .max, poller: Poller) {
        line = WaitingLine(BudgetRule(total), mostWaiting: mostWaiting, poller: poller)
    }

    /// How many tasks wait.
    package var waiting: Int { line.waiting }

    /// How much is taken.
    package var taken: Int { line.read { $0.taken } }

    /// Takes an amount, which is to be given back.
    ///
    /// - Parameters:
    ///   - amount: how much.
    ///   - deadline: until when to wait for room; a moment that has passed means not at all.
    /// - Throws: `Refusal`, `CancellationError`; nothing is taken then.
    package func take(_ amount: Int, until deadline: ContinuousClock.Instant) async throws {
        try await line.take(amount, until: deadline)
    }

    /// Gives back an amount that was taken, or all of it but a rest.
    ///
    /// - Parameters:
    ///   - amount: what was taken.
    ///   - rest: what is kept, to be given back later.
    package func giveBack(_ amount: Int, butFor rest: Int = 0) {
        line.change { rule in
            rule.giveBack(amount)
            if rest > 0 { rule.grant(min(amount, rest)) }
        }
    }
}

/// Who may take of a budget.
package struct BudgetRule: WaitingRule {
    private let total: Int
    /// What is kept for small amounts.
    private let reserve: Int
    private var large = 0
    private var small = 0

    init(_ total: Int) {
        precondition(total > 0, "of a budget of nothing nobody could take anything")
        self.total = total
        reserve = total / 8
    }

    var taken: Int { large + small }

    /// Chooses the first of the large or the first of the small amounts.
    package func next(_ wishes: [Int]) -> Int? {
        let firstLarge = wishes.firstIndex { !isSmall($0) }
        if let firstLarge, counted(wishes[firstLarge]) <= min(total - reserve - large, total - taken) {
            return firstLarge
        }
        guard let firstSmall = wishes.firstIndex(where: isSmall) else { return nil }
        let room = firstLarge == nil ? total - taken : min(reserve - small, total - taken)
        return wishes[firstSmall] <= room ? firstSmall : nil
    }

    /// Takes an amount.
    package mutating func grant(_ amount: Int) { add(amount, 1) }

    mutating func giveBack(_ amount: Int) {
        add(amount, -1)
        precondition(large >= 0 && small >= 0, "more is given back than was taken")
    }

    private mutating func add(_ amount: Int, _ sign: Int) {
        if isSmall(amount) { small += sign * amount } else { large += sign * counted(amount) }
    }

    private func isSmall(_ amount: Int) -> Bool { amount <= reserve }

    private func counted(_ amount: Int) -> Int { min(amount, total - reserve) }
}
