/// Makes long inputs of short ones: what costs more than its length, or a level of the stack each time, shows.
enum Repetition {
    /// The bytes behind the first one; where two NUL stand in them, the part between is repeated as the first byte says,
    /// mostly once: long inputs take long.
    static func unfold(_ input: [UInt8], limit: Int) -> [UInt8] {
        guard let choice = input.first else { return [] }
        let parts = input.dropFirst().split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[1].isEmpty else { return Array(input.dropFirst()) }
        let wanted =
            switch choice {
            case ..<200: 1
            case ..<240: 4
            case ..<255: 100
            default: limit
            }
        let times = min(wanted, max(1, limit / parts[1].count))
        return Array(parts[0]) + Array(repeating: parts[1], count: times).joined() + parts[2]
    }
}
