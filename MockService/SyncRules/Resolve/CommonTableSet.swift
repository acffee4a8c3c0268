import PowerSyncWire

/// The common table expressions that a query may name: those of its stream, then those of the configuration.
struct CommonTableSet {
    /// One that is a SELECT.
    struct Entry {
        /// What it is called, and where.
        let table: CommonTable
        /// Its query.
        let select: SelectSyntax
        /// Where its statement stands, up to the last parenthesis.
        let statement: Range<Int>
    }

    private var ofStream: [ExactText: Entry] = [:]
    private var ofAll: [ExactText: Entry] = [:]

    /// Adds one of the configuration; the last one of a name counts.
    mutating func add(_ entry: Entry) { ofAll[entry.table.name] = entry }

    /// Takes those of a stream in the place of the last stream's.
    mutating func begin(_ entries: [Entry]) {
        ofStream = [:]
        for entry in entries { ofStream[entry.table.name] = entry }
    }

    /// The one of a name.
    func entry(_ name: ExactText) -> Entry? { ofStream[name] ?? ofAll[name] }
}
