import PowerSyncSQLite
import PowerSyncTerminal

/// The rows of a query, to be shown to a person.
package struct ResultTable: Sendable {
    /// How rows are shown.
    package enum Form: String, Sendable, CaseIterable {
        /// As a table where that fits, else one column a line.
        case auto
        /// As a table, cut as far as need be.
        case table
        /// One column a line, where no value is cut.
        case line
    }

    /// What a table is fitted into.
    package struct Layout: Sendable {
        /// The columns of the terminal; nil for any number.
        package var width: Int?
        /// How rows are shown.
        package var form: Form
        /// How texts stand out.
        package var style: TextStyle
        /// How many columns a text takes.
        package var measure: DisplayWidth

        /// Makes a layout of its parts.
        package init(width: Int?, form: Form = .auto, style: TextStyle, measure: DisplayWidth) {
            self.width = width
            self.form = form
            self.style = style
            self.measure = measure
        }
    }

    /// A table as it is shown.
    package struct Shown: Sendable, Equatable {
        /// The lines.
        package let lines: [String]
        /// Whether values were cut.
        package let isCut: Bool
    }

    /// The names of the columns; they may repeat.
    package let columns: [String]
    /// The rows, each with a value for each column.
    package let rows: [[SQLiteValue]]

    /// The least width of a column that is cut.
    private static let leastWidth = 8
    /// The same in a table that is asked for by name.
    private static let leastForcedWidth = 3
    /// How many bytes of a blob are shown, unless all are asked for.
    private static let shownBytes = 16
    /// How far columns are filled up where no terminal ends them.
    private static let widestFilling = 1000
    private static let digits = Array("0123456789abcdef".utf8)

    /// Makes a table of its parts.
    package init(columns: [String], rows: [[SQLiteValue]]) {
        self.columns = columns
        self.rows = rows
    }

    /// Returns the lines of the table.
    package func shown(in layout: Layout) -> Shown {
        if layout.form != .line, let table = table(in: layout) { return table }
        return lineForm(in: layout)
    }

    // MARK: Cells

    /// One value or name, as it is shown.
    private struct Cell {
        var text: String
        var width: Int
        /// Whether it stands at the right.
        var isNumber = false
        /// Whether it stands for no value.
        var isNull = false
        /// Whether something of the value is left out already.
        var isCut = false
        /// Whether the text says by itself that something is left out.
        var isShortened = false

        init(_ text: String, _ measure: DisplayWidth) {
            self.text = text
            width = measure.of(text)
        }

        /// Leaves out what is beyond a width.
        mutating func cut(to limit: Int, _ measure: DisplayWidth) {
            guard isCut || width > limit else { return }
            isCut = true
            var kept = ""
            var columns = 0
            for character in text {
                let more = measure.of(character)
                // One column is for the mark.
                if columns + more > max(limit - 1, 0) { break }
                kept.append(character)
                columns += more
            }
            text = kept + "…"
            width = columns + 1
        }
    }

    /// Returns a value as a cell; of a text no more than so many characters.
    private static func cell(_ value: SQLiteValue, atMost limit: Int?, in layout: Layout) -> Cell {
        var isWhole = true
        var isShortened = false
        let text: String
        switch value {
        case .null: text = "NULL"
        case .integer(let integer): text = String(integer)
        case .real(let real): text = real.isInfinite ? (real < 0 ? "-Inf" : "Inf") : "\(real)"
        // Nothing else would tell it from no value.
        case .text("NULL") where !layout.style.isColored: text = "'NULL'"
        case .text(let value):
            if let limit {
                let start = value.prefix(limit)
                isWhole = start.endIndex == value.endIndex
                text = DisplayText.of(start)
            } else {
                text = DisplayText.of(value)
            }
        case .blob(let bytes):
            let isWanted = layout.width == nil || layout.form == .line
            isShortened = !isWanted && bytes.count > shownBytes
            let digits = hexadecimal(isShortened ? bytes.prefix(shownBytes) : bytes[...])
            text = isShortened ? "x'\(digits)…' (\(bytes.count) bytes)" : "x'\(digits)'"
        }
        var cell = Cell(text, layout.measure)
        cell.isCut = !isWhole
        cell.isShortened = isShortened
        cell.isNull = value == .null
        switch value {
        case .integer, .real: cell.isNumber = true
        case .null, .text, .blob: break
        }
        return cell
    }

    private static func hexadecimal(_ bytes: ArraySlice<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.count)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    // MARK: One row a line

    private func table(in layout: Layout) -> Shown? {
        let measure = layout.measure
        let cells = rows.map { row in row.map { Self.cell($0, atMost: layout.width, in: layout) } }
        let names = columns.map { Cell(DisplayText.of($0), measure) }
        let natural = names.indices.map { column in
            // A value of which something is left out is as wide as anything may be.
            cells.reduce(names[column].width) {
                max($0, $1[column].isCut ? layout.width ?? $1[column].width : $1[column].width)
            }
        }
        let widths: [Int]
        if let width = layout.width {
            let least = layout.form == .table ? Self.leastForcedWidth : Self.leastWidth
            let room = width - 3 * (columns.count - 1)
            guard let fitted = Self.fitted(natural, into: room, least: least) else { return nil }
            widths = fitted
        } else {
            widths = natural.map { min($0, Self.widestFilling) }
        }
        var isCut = false
        func line(_ cells: [Cell], _ style: (String, Cell) -> String) -> String {
            let parts = zip(cells, widths).enumerated().map { index, pair in
                var cell = pair.0
                if layout.width != nil { cell.cut(to: pair.1, measure) }
                if cell.isCut || cell.isShortened { isCut = true }
                let space = String(repeating: " ", count: max(0, pair.1 - cell.width))
                let text = style(cell.text, cell)
                if cell.isNumber { return space + text }
                return index == widths.count - 1 ? text : text + space
            }
            return parts.joined(separator: " | ")
        }
        var header = names
        for column in header.indices { header[column].isNumber = Self.isNumeric(cells, column) }
        var lines = [line(header) { text, _ in layout.style.bold(text) }]
        lines.append(widths.map { String(repeating: "-", count: $0) }.joined(separator: "-+-"))
        for row in cells {
            lines.append(line(row) { text, cell in cell.isNull ? layout.style.dim(text) : text })
        }
        return Shown(lines: lines, isCut: isCut)
    }

    /// Whether a column has numbers, and nothing else but NULL.
    private static func isNumeric(_ cells: [[Cell]], _ column: Int) -> Bool {
        cells.contains { $0[column].isNumber }
            && cells.allSatisfy { $0[column].isNumber || $0[column].isNull }
    }

    /// Returns widths that fit into a room, for which the widest columns give first.
    ///
    /// Nil if there are none of at least so much, or what a column needs if that is less.
    private static func fitted(_ natural: [Int], into room: Int, least: Int) -> [Int]? {
        func total(_ limit: Int) -> Int { natural.reduce(0) { $0 + min($1, limit) } }
        guard total(least) <= room else { return nil }
        var low = least
        var high = max(least, natural.max() ?? least)
        while low < high {
            let middle = (low + high + 1) / 2
            if total(middle) <= room { low = middle } else { high = middle - 1 }
        }
        var widths = natural.map { min($0, low) }
        var rest = room - total(low)
        for column in widths.indices where rest > 0 && widths[column] < natural[column] {
            widths[column] += 1
            rest -= 1
        }
        return widths
    }

    // MARK: One column a line

    private func lineForm(in layout: Layout) -> Shown {
        let measure = layout.measure
        var names = columns.map { Cell(DisplayText.of($0), measure) }
        if let width = layout.width {
            for column in names.indices { names[column].cut(to: max(1, width / 3), measure) }
        }
        let nameWidth = names.reduce(0) { max($0, $1.width) }
        let room = layout.width.map { max(1, $0 - nameWidth - 3) }
        var lines: [String] = []
        var isCut = false
        for (number, row) in rows.enumerated() {
            lines.append(layout.style.dim("-[ \(number + 1) ]-"))
            for (name, value) in zip(names, row) {
                let cell = Self.cell(value, atMost: nil, in: layout)
                if cell.isShortened { isCut = true }
                for (index, piece) in Self.pieces(of: cell.text, room, measure).enumerated() {
                    let head = index == 0 ? name.text : ""
                    let space = String(repeating: " ", count: nameWidth - (index == 0 ? name.width : 0))
                    let text = cell.isNull ? layout.style.dim(piece) : piece
                    lines.append(layout.style.bold(head) + space + " | " + text)
                }
            }
        }
        return Shown(lines: lines, isCut: isCut)
    }

    /// Cuts a text into pieces that fit into a width; one empty piece for an empty text.
    private static func pieces(of text: String, _ width: Int?, _ measure: DisplayWidth) -> [String] {
        guard let width else { return [text] }
        var pieces: [String] = []
        var piece = ""
        var columns = 0
        for character in text {
            let more = measure.of(character)
            if columns + more > width, !piece.isEmpty {
                pieces.append(piece)
                piece = ""
                columns = 0
            }
            piece.append(character)
            columns += more
        }
        return pieces + [piece]
    }
}
