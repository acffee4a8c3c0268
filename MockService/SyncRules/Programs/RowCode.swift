/// The instructions of a program, and what they need; `RowProgramRun` runs them.
///
/// Its parts are flat arrays of plain values: running them counts no references.
package struct RowCode: Sendable {
    /// Walks the elements of a JSON value.
    package struct Loop: Sendable, Hashable {
        /// The value, which is computed by what stands before the code of the loop.
        package let argument: Register
        /// What is done for each element, before the loop behind this one begins.
        package let code: Range<Int>

        /// Makes a loop of both.
        package init(argument: Register, code: Range<Int>) {
            self.argument = argument
            self.code = code
        }
    }

    /// The instructions: those before all loops, those of each loop, those of the output.
    package let instructions: [Instruction]
    /// How many instructions decide where the row is; those behind compute the output.
    package let headCount: Int
    /// The loops, each within the one before.
    package let loops: [Loop]
    /// Registers that instructions read of which there may be many.
    package let operands: [Register]
    /// The constants; texts and blobs among them lie in `texts`.
    package let constants: [Slot]
    /// The bytes of constants.
    package let texts: [UInt8]
    /// Which rules the instructions follow.
    package let options: CompatibilityOptions

    /// Makes code of its parts.
    package init(
        instructions: [Instruction], headCount: Int, loops: [Loop] = [], operands: [Register] = [],
        constants: [Slot], texts: [UInt8], options: CompatibilityOptions
    ) {
        self.instructions = instructions
        self.headCount = headCount
        self.loops = loops
        self.operands = operands
        self.constants = constants
        self.texts = texts
        self.options = options
    }

    /// The columns that are read.
    package var columns: Set<Int> {
        var columns: Set<Int> = []
        for case .column(let column) in instructions { columns.insert(column) }
        return columns
    }
}
