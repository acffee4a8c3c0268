import Foundation

/// Counts what inputs turned out to be.
struct Tally {
    private var counts: [String: Int] = [:]

    mutating func count(_ what: String, _ number: Int = 1) { counts[what, default: 0] += number }

    func report() {
        for (what, count) in counts.sorted(by: { $0.key < $1.key }) { print("  \(what): \(count)") }
        fflush(nil)
    }
}
