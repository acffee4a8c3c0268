/// The jobs that ours may answer otherwise than recorded, each with the reason.
package struct MissingJobs: Sendable {
    /// Numbers of one file that differ for one reason.
    private struct Entry: Sendable {
        let file: String
        let ids: NumberRanges
        let reason: String
    }

    private var entries: [Entry] = []

    /// Makes an empty list.
    package init() {}

    /// Reads a list: lines of a file's name without its ending, numbers such as `1,5-9`, and the reason; `#` begins a
    /// remark.
    ///
    /// - Parameter text: the list.
    /// - Throws: `StackError` with `.file` for any other line.
    package init(parsing text: String) throws(StackError) {
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.split(separator: " ", maxSplits: 2)
            guard let file = words.first, !file.hasPrefix("#") else { continue }
            guard words.count == 3, let ids = NumberRanges(String(words[1])) else {
                throw StackError(
                    .file,
                    "line \(index + 1): a line is the name of a file, numbers such as 1,5-9, and the reason")
            }
            entries.append(Entry(file: String(file), ids: ids, reason: String(words[2])))
        }
    }

    /// Why a job may differ; nil if it may not.
    ///
    /// - Parameters:
    ///   - id: its number.
    ///   - file: the name of its file without the ending.
    /// - Returns: the reason.
    package func reason(of id: Int, in file: String) -> String? {
        entries.first { $0.file == file && $0.ids.contains(id) }?.reason
    }
}

/// Whole numbers, given as `1,5-9`.
package struct NumberRanges: Sendable, Hashable {
    private var ranges: [ClosedRange<Int>] = []

    /// Reads numbers and ranges with commas between them; nil for any other text.
    package init?(_ text: String) {
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
            guard ends.count <= 2, let first = ends.first, let last = ends.last, let low = first,
                let high = last, low >= 0, low <= high
            else { return nil }
            ranges.append(low...high)
        }
    }

    /// Whether a number is one of them.
    package func contains(_ number: Int) -> Bool { ranges.contains { $0.contains(number) } }
}
