/// How much of everything the parts have; the goals are for the standard.
struct ServiceSizes: Sendable {
    /// The sizes that the real service was measured with.
    static let standard = ServiceSizes()

    /// Rows of most sources.
    var rows = 100_000
    /// Rows of the large ones.
    var manyRows = 1_000_000
    /// Rows of the one transaction of `bulk`.
    var bulkRows = 100_000
    /// Transactions of `singles` and `language`.
    var singles = 20_000
    /// Commits of a round of `latency` and `lookups`.
    var commits = 200
    /// Write checkpoints of a round.
    var writeCheckpoints = 50
    /// Clients of `connects`, `fanout`, `idle` and `memory`.
    var clients = 1000
    /// Rows of each of these clients.
    var rowsOfClient = 1000
    /// Changes of a round of `fanout`.
    var changes = 10
    /// Commits of a round of `idle`.
    var commitsOfOthers = 500
    /// Users of `lookups`.
    var users = 10_000
}
