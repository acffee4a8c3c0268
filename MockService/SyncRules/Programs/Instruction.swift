/// Where an instruction leaves its value: the index of the instruction in its program.
package typealias Register = Int

/// A step of a program; each that has a value leaves it in the register of its own index.
///
/// Values and errors are those of `ExpressionRun` (service 6.12). What is not computed there is passed over here: it
/// could have an error, or a value that was left out.
package enum Instruction: Sendable, Hashable {
    /// The value of a column.
    case column(Int)
    /// One of the program's constants.
    case constant(Int)
    /// A part of the element that a loop is at, by the number of the loop.
    case element(Int, ElementPart)
    /// 1 or 0; NULL if a side is NULL.
    case compare(Comparison, Register, Register)
    /// 1 if both are equal, or both NULL, else 0.
    case isSame(Register, Register)
    /// 1 if the value is TRUE, or FALSE, else 0.
    case isTrue(Register, Bool)
    /// 1 if the value does not hold, else 0.
    case not(Register)
    /// 1 if the value is NULL, else 0.
    case isNull(Register)
    /// 1 if both hold; the default engine reads the second one only if the first one holds.
    case and(Register, Register)
    /// 1 if one holds; the default engine reads the second one only if the first one does not hold.
    case or(Register, Register)
    /// Whether the first of three operands is within the two behind it.
    case between(first: Int)
    /// Whether the first of so many operands is one of those behind it.
    case oneOf(first: Int, count: Int)
    /// A number made of two.
    case arithmetic(Arithmetic, Register, Register)
    /// Both texts.
    case concat(Register, Register)
    /// A member of a JSON text.
    case member(Register, Register, MemberForm)
    /// The value as another type.
    case cast(CastType, Register)
    /// The value of a function whose arguments are so many operands.
    case call(Function, first: Int, count: Int)
    /// 1 if the JSON array contains the value.
    case contains(list: Register, Register)
    /// 1 if two JSON arrays have a value in common.
    case overlaps(Register, Register)
    /// Passes over so many instructions unless the value holds; leaves nothing.
    case skipUnless(Register, over: Int)
    /// Passes over so many instructions if the value holds; leaves nothing.
    case skipWhen(Register, over: Int)
    /// Passes over so many instructions; leaves nothing.
    case jump(over: Int)
    /// Leaves a value in another register: that of the last branch of an expression, which all branches share.
    case move(Register, to: Register)
    /// Ends the row, with the elements that loops are at, unless the value holds: it is in no bucket, nothing finds it.
    case require(Register)
    /// Ends it unless the value can be part of a bucket's name, and of a lookup's key: NULL, blobs and what is not a number
    /// cannot.
    case requireKey(Register)
}
