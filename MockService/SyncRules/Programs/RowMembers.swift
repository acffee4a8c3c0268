import PowerSyncWire

/// The members of a data text in the order in which JavaScript writes them (service 4.4).
package struct RowMembers: Sendable {
    /// A column of the client's table.
    package struct Column: Sendable {
        /// Its name.
        let name: String
        /// Where its value comes from.
        let value: RowProgram.Value
        /// Whether it counts only if no column of its name before it has a value.
        let givesWay: Bool

        /// Makes a column of its fields.
        package init(_ name: String, _ value: RowProgram.Value, givesWay: Bool = false) {
            self.name = name
            self.value = value
            self.givesWay = givesWay
        }
    }

    private(set) var members: [RowProgram.Member] = []
    private(set) var names: [UInt8] = []
    private(set) var twins: [Int] = []
    /// The index of a member that is called id.
    let id: Int?

    /// Makes members of columns, which may have the same names.
    package init(_ columns: [Column]) {
        // JavaScript moves keys that are array indexes to the front. Those of one name stay in their order.
        let keys = columns.enumerated().map { (index: JSONReader.arrayIndex($1.name), place: $0) }
        let indexes = keys.filter { $0.index != nil }
            .sorted { ($0.index ?? 0, $0.place) < ($1.index ?? 0, $1.place) }
        let ordered = (indexes + keys.filter { $0.index == nil }).map { columns[$0.place] }
        id = ordered.firstIndex { ExactText($0.name) == ExactText("id") }
        var places: [ExactText: [Int]] = [:]
        for (place, column) in ordered.enumerated() {
            places[ExactText(column.name), default: []].append(place)
        }
        var known: [ExactText: Range<Int>] = [:]
        for column in ordered {
            let name = ExactText(column.name)
            let start = names.count
            JSON.appendQuoted(column.name, to: &names)
            names.append(UInt8(ascii: ":"))
            if known[name] == nil {
                let same = places[name] ?? []
                let first = twins.count
                if same.count > 1 { twins += same }
                known[name] = first..<twins.count
            }
            members.append(
                RowProgram.Member(
                    name: start..<names.count, value: column.value, givesWay: column.givesWay,
                    twins: known[name] ?? 0..<0))
        }
    }
}
