/// Changes of rows as a source tells them, in order: about 1 MiB of text, at most 2,000 of them unless one row is larger.
///
/// Texts lie where they were received: a row is a run of cells, a cell a range of bytes.
package struct ChangeBatch: Sendable {
    /// A value of a row as the source spells it.
    package struct Cell: Sendable, Hashable {
        private let offset: UInt32
        private let count: UInt32

        private init(offset: UInt32, count: UInt32) {
            self.offset = offset
            self.count = count
        }

        /// NULL.
        package static var null: Cell { Cell(offset: .max, count: 0) }

        /// A large value that did not change, which the source leaves out.
        package static var unchanged: Cell { Cell(offset: .max, count: 1) }

        /// Makes a cell of where its text lies, below 4 GiB.
        package init(_ range: Range<Int>) {
            self.init(offset: UInt32(range.lowerBound), count: UInt32(range.count))
        }

        /// Where the text lies; nil for NULL and for what was left out.
        package var range: Range<Int>? {
            offset == .max ? nil : Int(offset)..<Int(offset) + Int(count)
        }
    }

    /// A change of one row.
    package struct Change: Sendable, Hashable {
        /// What became of the row.
        package enum Kind: Sendable, Hashable {
            /// A snapshot has read it; it changes nothing if the row is known, since what was streamed is newer.
            case snapshot
            /// It is new.
            case insert
            /// It has changed.
            case update
            /// It is gone.
            case delete
            /// It was read again, because a value was not known.
            case readAgain
        }

        /// What became of the row.
        package let kind: Kind
        /// Index into the batch's tables.
        package let table: Int
        /// The first cell of the row as it is now, one for each column of the table; -1 if it is gone.
        package let new: Int
        /// The first cell of the row as it was: of a delete, and of an update that tells it; else -1.
        ///
        /// Of a key alone, the other cells are NULL.
        package let old: Int

        /// Makes a change.
        package init(_ kind: Kind, table: Int, new: Int = -1, old: Int = -1) {
            self.kind = kind
            self.table = table
            self.new = new
            self.old = old
        }
    }

    /// The buffer as it was received; UTF-8 where a cell says so.
    package var bytes: [UInt8]
    /// The cells of all rows.
    package var cells: [Cell]
    /// The changes in the order of the log.
    package var changes: [Change]
    /// The tables that changes name.
    package var tables: [TablePlan]
    /// Whether the rows were read from the source, and so are newer than the log.
    package var isAhead: Bool
    /// Whether a cell is unchanged, or values of a table have fields, so that a row may have to be read again.
    package var mayBeIncomplete: Bool

    /// Makes a batch of its parts; by default an empty one.
    package init(
        bytes: [UInt8] = [], cells: [Cell] = [], changes: [Change] = [], tables: [TablePlan] = [],
        isAhead: Bool = false, mayBeIncomplete: Bool = false
    ) {
        self.bytes = bytes
        self.cells = cells
        self.changes = changes
        self.tables = tables
        self.isAhead = isAhead
        self.mayBeIncomplete = mayBeIncomplete
    }
}
