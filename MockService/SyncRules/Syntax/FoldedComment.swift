/// A comment that YAML has made longer than it looks (service 6.3).
///
/// In a folded block, and in a plain or quoted text of several lines, line ends become blanks. So a comment that begins with
/// `--` goes on over lines that look like SQL, and their conditions are left out without a word.
enum FoldedComment {
    /// Finds SQL that a comment on a line before it takes in.
    ///
    /// - Parameter text: The SQL, with what it was made of.
    /// - Returns: Its bytes up to the end of the comment; nil if comments take in nothing but comments.
    static func hidden(in text: QueryText) -> Range<Int>? {
        let runs = text.map.runs
        guard runs.count > 1 else { return nil }
        let comments = SQLTokenizer.lineComments(of: text.bytes)
        var index = 0
        for (run, next) in zip(runs, runs.dropFirst()) {
            let place = next.value.lowerBound
            while index < comments.count, comments[index].upperBound <= place { index += 1 }
            guard index < comments.count else { return nil }
            // Else there is no line end between parts that follow on each other in the YAML.
            let isFurtherLine = run.isFold || next.isFold || next.text.lowerBound > run.text.upperBound
            guard comments[index].lowerBound < place, isFurtherLine else { continue }
            let rest = place..<comments[index].upperBound
            let start = rest.first { text.bytes[$0] != UInt8(ascii: " ") }
            guard let start, !text.bytes[start..<rest.upperBound].starts(with: "--".utf8) else { continue }
            return start..<rest.upperBound
        }
        return nil
    }

    /// Warns of such SQL, of which the admin routes say nothing.
    ///
    /// - Parameter text: The SQL.
    /// - Returns: What is told; nil if there is none.
    static func warning(of text: QueryText) -> Diagnostic? {
        hidden(in: text).map {
            Diagnostic(.hiddenByComment, at: text.range($0), recorded: Recorded(.silent))
        }
    }
}
