import PowerSyncPostgresValues

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

    /// What a source tells beside the changes of rows.
    package enum Mark: Sendable, Equatable {
        /// The changes behind are of a transaction that is committed there; those before the first one were read.
        case begun(LSN)
        /// The end of a transaction; everything before it may be published.
        case committed(LSN)
        /// So much of the transaction has been told that goes on behind.
        case told(TransactionProgress)
        /// All rows of a table are gone: an index into the batch's tables.
        case truncate(Int)
        /// The rows of a table were identified by what is over: it has to be read anew.
        case identityIsOver(Int)
        /// The rows of a table have been read up to a key.
        case readUpTo(Int, key: String)
        /// All rows of a table have been read.
        case readWhole(Int)
        /// No checkpoint is published before the log has passed a position that was taken behind the rows that were read so
        /// far, and, if more is being read, none before that has a position, too.
        case hold(until: LSN, isAhead: Bool, isSnapshotDone: Bool)
        /// Up to there nothing is to be applied behind the last commit.
        case passed(LSN)
    }

    /// The buffer as it was received; UTF-8 where a cell says so.
    package var bytes: [UInt8]
    /// The cells of all rows.
    package var cells: [Cell]
    /// The changes in the order of the log.
    package var changes: [Change]
    /// What is told beside them: each with the index of the change that follows it, in order.
    package var marks: [(before: Int, mark: Mark)]
    /// The tables that changes and marks name.
    package var tables: [TablePlan]
    /// Whether the rows were read from the source, and so are newer than the log.
    package var isAhead: Bool
    /// Whether a cell is unchanged, or values of a table have fields, so that a row may have to be read again.
    package var mayBeIncomplete: Bool
    /// How many bytes the large values have, at least, that the only row leaves out.
    ///
    /// One for each of its table's large columns; nil if nothing is known of them.
    private(set) var lengths: [Int]?

    /// Makes a batch of its parts; by default an empty one.
    package init(
        bytes: [UInt8] = [], cells: [Cell] = [], changes: [Change] = [],
        marks: [(before: Int, mark: Mark)] = [], tables: [TablePlan] = [], isAhead: Bool = false,
        mayBeIncomplete: Bool = false
    ) {
        self.bytes = bytes
        self.cells = cells
        self.changes = changes
        self.marks = marks
        self.tables = tables
        self.isAhead = isAhead
        self.mayBeIncomplete = mayBeIncomplete
    }

    /// Makes a batch of one mark.
    package init(_ mark: Mark, tables: [TablePlan] = [], isAhead: Bool = false) {
        self.init(marks: [(before: 0, mark: mark)], tables: tables, isAhead: isAhead)
    }

    /// Makes a batch of one row that was read from the source.
    ///
    /// - Parameters:
    ///   - kind: What became of the row.
    ///   - plan: Its table.
    ///   - texts: Its values, one for each column; nil for NULL. Of a row that is gone those alone count that identify it.
    package init(_ kind: Change.Kind, of plan: TablePlan, _ texts: [String?]) {
        let change =
            kind == .delete ? Change(kind, table: 0, old: 0) : Change(kind, table: 0, new: 0)
        self.init(changes: [change], tables: [plan], isAhead: true)
        appendRow(texts)
    }
}

extension ChangeBatch {
    /// About how many bytes of memory it takes, with what is kept of each batch.
    package var byteCount: Int {
        512 + bytes.count + cells.count * MemoryLayout<Cell>.stride
            + changes.count * MemoryLayout<Change>.stride + marks.count * MemoryLayout<Mark>.stride
    }

    /// Whether nothing is told.
    package var isEmpty: Bool { changes.isEmpty && marks.isEmpty }

    /// Where the last transaction is committed that ends in the batch; nil if none does.
    package var lastCommit: LSN? {
        for (_, mark) in marks.reversed() {
            if case .committed(let position) = mark { return position }
        }
        return nil
    }

    /// Whether it has commits, and positions that were passed, alone.
    package var isOfPositions: Bool {
        changes.isEmpty
            && marks.allSatisfy { entry in
                switch entry.mark {
                case .begun, .committed, .passed: true
                case .told, .truncate, .identityIsOver, .readUpTo, .readWhole, .hold: false
                }
            }
    }

    /// Adds the cells of a row.
    ///
    /// - Parameter texts: Its values, one for each column; nil for NULL.
    /// - Returns: The first cell.
    @discardableResult
    package mutating func appendRow(_ texts: [String?]) -> Int {
        let first = cells.count
        for text in texts {
            let start = bytes.count
            if let text { bytes.append(contentsOf: text.utf8) }
            cells.append(text == nil ? .null : Cell(start..<bytes.count))
        }
        return first
    }

    /// Adds a mark behind everything.
    package mutating func append(_ mark: Mark) { marks.append((before: changes.count, mark: mark)) }

    /// Leaves out all changes of a table, whose rows were identified by what is over, and says so in the place of the
    /// first one.
    ///
    /// - Parameter table: Index into the tables.
    package mutating func dropChanges(of table: Int) {
        var kept: [Change] = []
        var moved: [(before: Int, mark: Mark)] = []
        var rest = marks[...]
        var isSaid = false
        for (index, change) in changes.enumerated() {
            while let first = rest.first, first.before <= index {
                moved.append((before: kept.count, mark: first.mark))
                rest.removeFirst()
            }
            guard change.table == table else {
                kept.append(change)
                continue
            }
            if !isSaid { moved.append((before: kept.count, mark: .identityIsOver(table))) }
            isSaid = true
        }
        marks = moved + rest.map { (before: kept.count, mark: $0.mark) }
        changes = kept
    }

    /// Returns a batch of one of the rows alone, as it is now, with the values that were left out and are known.
    ///
    /// - Parameters:
    ///   - index: The change, which has a row of now.
    ///   - known: A cell for each of the table's large columns; nil if none are known. Of lengths no value is made.
    /// - Returns: The batch.
    package func alone(_ index: Int, filledWith known: LargeCells?) -> ChangeBatch {
        let change = changes[index]
        let plan = tables[change.table]
        var batch = ChangeBatch(
            changes: [Change(change.kind, table: 0, new: 0)], tables: [plan], isAhead: isAhead)
        batch.lengths = known?.lengths
        for column in plan.conversions.indices {
            let cell = now(column, of: change)
            let start = batch.bytes.count
            if let range = cell.range {
                batch.bytes.append(contentsOf: bytes[range])
                batch.cells.append(Cell(start..<batch.bytes.count))
            } else if cell == .unchanged, let known, known.lengths == nil,
                let place = plan.table.largeColumns.firstIndex(of: column)
            {
                if let text = known[place] { batch.bytes.append(contentsOf: text) }
                batch.cells.append(known[place] == nil ? .null : Cell(start..<batch.bytes.count))
            } else {
                batch.cells.append(cell)
            }
        }
        return batch
    }

    /// The cell of a column as it is now, which the old row has if the new one leaves it out (identity FULL).
    ///
    /// - Parameters:
    ///   - column: The column.
    ///   - change: A change that has a row of now.
    /// - Returns: The cell; `.unchanged` if neither has it.
    func now(_ column: Int, of change: Change) -> Cell {
        let cell = cells[change.new + column]
        guard cell == .unchanged, change.old >= 0 else { return cell }
        let former = cells[change.old + column]
        return former.range == nil ? cell : former
    }

    /// The texts of a row as it is now, one for each column; nil for NULL and for what was left out.
    ///
    /// - Parameter index: The change.
    /// - Returns: The texts.
    func texts(_ index: Int) -> [String?] {
        let change = changes[index]
        return tables[change.table].conversions.indices.map { column in
            now(column, of: change).range.map { String(decoding: bytes[$0], as: UTF8.self) }
        }
    }
}
