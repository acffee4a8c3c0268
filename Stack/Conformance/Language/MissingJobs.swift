/// The jobs that ours may answer otherwise than recorded, each with the reason.
package struct MissingJobs: Sendable {
    /// Numbers of one file that differ for one reason.
    private struct Entry: Sendable {
        let file: String
        let ids: NumberRanges
        let reason: String
    }

    private var entries: [Entry] = []
    private var name = "the list"

    /// Makes an empty list.
    package init() {}

    /// Reads a list: lines of a file's name without its ending, numbers such as `1,5-9`, and the reason; `#` begins a
    /// remark.
    ///
    /// - Parameters:
    ///   - text: the list.
    ///   - name: what it is called in messages.
    /// - Throws: `StackError` with `.file` for any other line.
    package init(parsing text: String, named name: String = "the list") throws(StackError) {
        self.name = name
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.split(separator: " ", maxSplits: 2)
            guard let file = words.first, !file.hasPrefix("#") else { continue }
            guard words.count == 3, let ids = NumberRanges(String(words[1])) else {
                throw StackError(
                    .file,
                    "\(name):\(index + 1): a line is the name of a file, numbers such as 1,5-9, and the reason"
                )
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

    /// Refuses a file that is neither run nor beside one that is.
    ///
    /// - Parameter paths: the files that are run.
    /// - Throws: `StackError` with `.file`.
    func checkFiles(of paths: [String]) throws(StackError) {
        let parts = paths.map { LanguageConformance.parts(of: $0) }
        for file in Set(entries.map(\.file)).sorted() where !parts.contains(where: { $0.name == file }) {
            guard !parts.contains(where: { JSONFiles.exists("\($0.folder)\(file).jsonl") }) else { continue }
            throw StackError(.file, "\(name): there is no file \(file), which is listed: strike it off")
        }
    }

    /// For each line about a file the first number that is none of its jobs, if there is one.
    ///
    /// - Parameters:
    ///   - known: the jobs of the file.
    ///   - file: its name without the ending.
    /// - Returns: the numbers.
    func ids(beside known: Set<Int>, in file: String) -> [Int] {
        entries.filter { $0.file == file }.compactMap { $0.ids.first(beside: known) }
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

    /// The first of them that is not among others; of a long range no more is looked at than there are others.
    func first(beside others: Set<Int>) -> Int? {
        for range in ranges {
            if let found = range.first(where: { !others.contains($0) }) { return found }
        }
        return nil
    }

    /// Whether a number is one of them.
    package func contains(_ number: Int) -> Bool { ranges.contains { $0.contains(number) } }
}
