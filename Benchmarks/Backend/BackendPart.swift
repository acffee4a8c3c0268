/// What can be measured of a backend, in this order.
enum BackendPart: String, CaseIterable, Sendable {
    /// Large transactions for one table.
    case uniform
    /// Large transactions for three tables in turn, with foreign keys and nulls at random.
    case mixed
    /// The same without foreign keys, so that nobody could see another order.
    case plain
    /// Transactions of one operation from many users at once.
    case singles

    /// What a part says at its end.
    struct Figures: Sendable {
        /// Its lines of the table.
        var rows: [BenchmarkReport.Row]
        /// Its line of the table of processor time; see `ProcessorTimes`.
        var processor: [String]
    }

    /// Measures the part.
    ///
    /// - Parameters:
    ///   - world: has Postgres.
    ///   - sizes: how much of everything there is.
    ///   - pairs: how often it is measured, each time in turn with its limit.
    /// - Returns: its figures.
    /// - Throws: what goes wrong.
    func measure(in world: BackendWorld, sizes: BackendSizes, pairs: Int) async throws -> Figures {
        let part = BackendPartRun(name: rawValue, world: world, sizes: sizes, pairs: pairs)
        return switch self {
        case .uniform: try await part.uniform()
        case .mixed: try await part.mixed(.mixed, what: "with foreign keys", goal: "≥ 0.6 ×")
        case .plain: try await part.mixed(.plain, what: "plain", goal: "")
        case .singles: try await part.singles()
        }
    }
}

/// One part while it is measured.
///
/// What each part does stands in an extension of its own, with what belongs together in one file.
struct BackendPartRun: Sendable {
    /// The name of the part.
    let name: String
    /// Has Postgres.
    let world: BackendWorld
    /// How much of everything there is.
    let sizes: BackendSizes
    /// How often it is measured.
    let pairs: Int

    /// The name of the part in the tables.
    var title: String { "\(name), \(world.durability)" }

    /// Tells the result of a pair.
    func progress(_ pair: Int, _ text: String) {
        BenchmarkReport.progress("\(title): \(pair) of \(pairs): \(text)")
    }

    /// Requires that everything that was sent is there.
    ///
    /// - Parameters:
    ///   - count: how many rows the tables of uploads have together.
    ///   - tables: these.
    ///   - source: their database.
    /// - Throws: `BenchmarkError` if there is another number, `PostgresError`.
    func require(_ count: Int, in tables: UploadTables, of source: BackendSource) async throws {
        let found = try await source.count(tables)
        guard found != count else { return }
        throw BenchmarkError("\(found) rows are there in place of \(count)")
    }
}
