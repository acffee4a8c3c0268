import PowerSyncMockService
import PowerSyncSyncRules
import PowerSyncTerminal

/// Diagnostics as lines for people: place and message, the line of the file, and a mark under it.
struct DiagnosticText {
    /// How many columns of a line are shown.
    private static let columns = 120
    /// How many columns are shown before the mark of a line that is cut.
    private static let columnsBefore = 40

    /// A character as it is shown.
    private struct Cell {
        let text: String
        let width: Int
        /// Its first byte in the file.
        let byte: Int
        /// What stands under it as long as the mark has not begun.
        var blank: String { text == "\t" ? text : String(repeating: " ", count: width) }
    }

    private let checked: SyncConfigText
    private let width: DisplayWidth

    /// Makes the lines of a configuration.
    ///
    /// - Parameters:
    ///   - checked: The configuration.
    ///   - width: How many columns characters take.
    init(_ checked: SyncConfigText, width: DisplayWidth = DisplayWidth()) {
        self.checked = checked
        self.width = width
    }

    /// The lines of a diagnostic.
    func lines(_ diagnostic: PlacedDiagnostic) -> [String] {
        [DisplayText.of("\(checked.file):\(diagnostic.line)")] + excerpt(diagnostic.range)
    }

    /// The line in which a part begins, and the mark under the part.
    private func excerpt(_ range: TextRange) -> [String] {
        let cells = cells(range.start)
        let (shown, isCutBefore, isCutBehind) = window(cells, around: range.start)
        var line = isCutBefore ? "…" : ""
        var mark = isCutBefore ? " " : ""
        var marked = 0
        for cell in shown {
            line += cell.text
            if cell.byte < range.start {
                mark += cell.blank
            } else if cell.byte < range.end {
                marked += cell.width
            }
        }
        mark += "^" + String(repeating: "~", count: max(0, marked - 1))
        return [line + (isCutBehind ? "…" : ""), mark]
    }

    /// The characters of a line without its end, as they are shown: tabs stay, what acts on a terminal does not.
    private func cells(_ byte: Int) -> [Cell] {
        let line = checked.source.line(around: byte)
        let text = String(decoding: checked.source.bytes[line.start..<line.end], as: UTF8.self)
        var cells: [Cell] = []
        var place = line.start
        for scalar in text.unicodeScalars {
            let first = place
            place += String(scalar).utf8.count
            if scalar == "\n" || scalar == "\r" { continue }
            let isTab = scalar == "\t"
            let shown = isTab ? "\t" : DisplayText.of(String(scalar))
            cells.append(Cell(text: shown, width: isTab ? 1 : width.of(shown), byte: first))
        }
        return cells
    }

    /// What of a line is shown, and whether something is left out on either side.
    private func window(
        _ cells: [Cell], around byte: Int
    ) -> (cells: ArraySlice<Cell>, isCutBefore: Bool, isCutBehind: Bool) {
        guard cells.reduce(0, { $0 + $1.width }) > Self.columns else { return (cells[...], false, false) }
        // One column on each side is for the sign that something is left out.
        let room = Self.columns - 2
        let first = cells.firstIndex { $0.byte >= byte } ?? cells.count
        let before = cells[..<first].reduce(0) { $0 + $1.width }
        var start = 0
        if before > room - Self.columnsBefore {
            var rest = before
            while rest > Self.columnsBefore {
                rest -= cells[start].width
                start += 1
            }
        }
        var (end, used) = (start, 0)
        while end < cells.count, used + cells[end].width <= room {
            used += cells[end].width
            end += 1
        }
        return (cells[start..<end], start > 0, end < cells.count)
    }
}
