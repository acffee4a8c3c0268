/// What one processor of a configuration makes of a row of one shape: whether it is synced, in which bucket, as what.
///
/// A value, which `RowProgramRun` runs. Its parts are flat arrays of plain values: running it counts no references.
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

    /// A part of the bucket's name.
    package enum Key: Sendable, Hashable {
        /// A value; there is no bucket if it is NULL or a blob.
        case value(Register)
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
        /// Where the indexes of all members of its name lie in `twins`; empty if it is the only one.
        package let twins: Range<Int>

        /// Makes a member of its fields.
        package init(name: Range<Int>, value: Value, twins: Range<Int>) {
            self.name = name
            self.value = value
            self.twins = twins
        }
    }

    /// Index into the configuration's bucket sources.
    package let source: Int
    /// What the client's table is called.
    package let type: OutputType
    /// The instructions.
    package let code: [Instruction]
    /// How many instructions decide on the bucket; those behind compute the output.
    package let headCount: Int
    /// What must hold for the row, in order: those behind one that fails are not computed.
    package let filters: [Register]
    /// The values of the bucket's name.
    package let keys: [Key]
    /// The members of the data text in the order in which it has them.
    package let members: [Member]
    /// Names of members, for each the bytes that stand before its value.
    package let names: [UInt8]
    /// Indexes of members of one name, those of the configuration's order.
    package let twins: [Int]
    /// The value of the last member that is called id; nil if none is.
    package let id: Value?
    /// The constants; texts and blobs among them lie in `texts`.
    package let constants: [Slot]
    /// The bytes of constants.
    package let texts: [UInt8]
    /// The columns that are read.
    package let columns: Set<Int>

    /// Makes a program of its parts.
    package init(
        source: Int, type: OutputType, code: [Instruction], headCount: Int, filters: [Register], keys: [Key],
        members: [Member], names: [UInt8], twins: [Int], id: Value?, constants: [Slot], texts: [UInt8],
        columns: Set<Int>
    ) {
        self.source = source
        self.type = type
        self.code = code
        self.headCount = headCount
        self.filters = filters
        self.keys = keys
        self.members = members
        self.names = names
        self.twins = twins
        self.id = id
        self.constants = constants
        self.texts = texts
        self.columns = columns
    }
}
