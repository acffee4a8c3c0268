/// What one processor of a configuration makes of a row of one shape: whether it is synced, in which buckets, as what.
///
/// A value, which `RowProgramRun` runs.
package struct RowProgram: Sendable {
    /// What the client's table is called.
    package enum OutputType: Sendable, Hashable {
        /// A name of the configuration.
        case named(String)
        /// The name of the table that the row is of.
        case table

        /// The name for rows of a table.
        package func name(of table: String) -> String {
            switch self {
            case .named(let name): name
            case .table: table
            }
        }
    }

    /// Where a value of the output comes from.
    package enum Value: Sendable, Hashable {
        /// A column of the row.
        case column(Int)
        /// The result of an instruction.
        case value(Register)
    }

    /// A member of the data text.
    package struct Member: Sendable, Hashable {
        /// Where its quoted name with the colon lies in `names`.
        package let name: Range<Int>
        /// Its value.
        package let value: Value
        /// Whether it counts only if no member of its name before it has a value.
        package let givesWay: Bool
        /// Where the indexes of all members of its name lie in `twins`; empty if it is the only one.
        package let twins: Range<Int>

        /// Makes a member of its fields.
        package init(name: Range<Int>, value: Value, givesWay: Bool, twins: Range<Int>) {
            self.name = name
            self.value = value
            self.givesWay = givesWay
            self.twins = twins
        }
    }

    /// Index into the configuration's bucket sources.
    package let source: Int
    /// What the client's table is called.
    package let type: OutputType
    /// The instructions.
    package let code: RowCode
    /// The values of the bucket's name.
    package let keys: [Register]
    /// The members of the data text in the order in which it has them.
    package let members: [Member]
    /// Names of members, for each the bytes that stand before its value.
    package let names: [UInt8]
    /// Indexes of members of one name, those of the configuration's order.
    package let twins: [Int]
    /// The index of a member that is called id; nil if none is.
    package let id: Int?
    /// Programs of a table with the same number make the same output of a row; nil if it has to be made for each place.
    package let outputGroup: Int?
    /// The columns that are read.
    package let columns: Set<Int>

    /// Makes a program of its parts.
    package init(
        source: Int, type: OutputType, code: RowCode, keys: [Register], output: RowMembers, outputGroup: Int?
    ) {
        self.source = source
        self.type = type
        self.code = code
        self.keys = keys
        members = output.members
        names = output.names
        twins = output.twins
        id = output.id
        self.outputGroup = outputGroup
        var columns = code.columns
        for member in output.members {
            if case .column(let column) = member.value { columns.insert(column) }
        }
        self.columns = columns
    }
}
