/// Where an instruction leaves its value: the index of the instruction in its program.
package typealias Register = Int

/// A step of a row program; each leaves one value in the register of its own index.
///
/// Values and errors are those of `Expression` (service 6.12). What need not be computed, such as the second part of an AND
/// whose first one fails, is skipped: it could have an error, or a value that was left out.
package enum Instruction: Sendable, Hashable {
    /// The value of a column.
    case column(Int)
    /// One of the program's constants.
    case constant(Int)
    /// 1 or 0; NULL if a side is NULL.
    case compare(Comparison, Register, Register)
    /// 1 if the value does not hold, else 0.
    case not(Register)
    /// 1 if the value is NULL, else 0.
    case isNull(Register)
    /// Passes over so many instructions unless the value holds; leaves nothing.
    case skipUnless(Register, over: Int)
    /// Passes over so many instructions if the value holds; leaves nothing.
    case skipWhen(Register, over: Int)
    /// 1 if both hold; the second one is read only if the first one holds.
    case and(Register, Register)
    /// 1 if one holds; the second one is read only if the first one does not hold.
    case or(Register, Register)
}
