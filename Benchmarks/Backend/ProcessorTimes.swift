/// The processor time that an operation takes by our way and by its limit: the median of rounds, taken in turns.
struct ProcessorTimes {
    /// The head of the table whose lines `cells` makes.
    static let head = [
        "processor time an operation", "backend", "Postgres", "generator", "limit: Postgres",
        "limit: program",
    ]

    /// Times of a round, in seconds; nil where the system does not tell.
    struct Round: Sendable {
        /// That of the backend.
        var backend: Double?
        /// That of Postgres meanwhile.
        var postgres: Double?
        /// That of what sent the requests.
        var generator: Double?
        /// That of Postgres during the limit.
        var postgresOfLimit: Double?
        /// That of the program which is the limit.
        var limit: Double?

        fileprivate var all: [Double?] { [backend, postgres, generator, postgresOfLimit, limit] }
    }

    private var rounds: [Round] = []

    /// Adds a round, whose times are those of one operation.
    mutating func add(_ round: Round) { rounds.append(round) }

    /// Makes the line of the table.
    ///
    /// - Parameter what: the name of what was measured.
    /// - Returns: its cells.
    func cells(_ what: String) -> [String] {
        let columns = Round().all.indices.map { column in
            let known = rounds.compactMap { $0.all[column] }
            return known.isEmpty ? "" : PairedTimes.text(.seconds(MeasuredPairs.median(known)))
        }
        return [what] + columns
    }
}
