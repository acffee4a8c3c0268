/// The way from a scalar's value back to the YAML that it was made of.
package struct ScalarMap: Sendable, Hashable {
    /// Bytes of the value and those of the text that they were made of.
    package struct Run: Sendable, Hashable {
        /// The bytes of the value.
        package let value: Range<Int>
        /// The bytes of the text: byte by byte if there are as many, else all of them for each.
        package let text: Range<Int>
        /// Whether it is a line end that folding has made a blank of.
        package let isFold: Bool

        /// Makes a run of its parts.
        package init(value: Range<Int>, text: Range<Int>, isFold: Bool = false) {
            self.value = value
            self.text = text
            self.isFold = isFold
        }
    }

    /// The runs, which follow on each other in the value; none if it is not known how it was made.
    package let runs: [Run]
    /// The scalar with its quotes or indicators.
    package let whole: TextRange

    /// Makes a map of its runs.
    package init(runs: [Run], whole: TextRange) {
        self.runs = runs
        self.whole = whole
    }

    /// Where a part of the value stands in the text.
    ///
    /// - Parameter part: Bytes of the value; of an empty part the byte that it stands before.
    /// - Returns: From the first byte of the first to the last of the last one; the whole scalar if that is unknown.
    package func range(_ part: Range<Int>) -> TextRange {
        guard let last = runs.last else { return whole }
        guard let start = bytes(of: part.lowerBound)?.lowerBound else {
            return TextRange(start: last.text.upperBound, end: last.text.upperBound)
        }
        guard !part.isEmpty, let end = bytes(of: part.upperBound - 1)?.upperBound else {
            return TextRange(start: start, end: part.isEmpty ? start : last.text.upperBound)
        }
        return TextRange(start: start, end: end)
    }

    /// What a byte of the value was made of; nil behind its end.
    private func bytes(of byte: Int) -> Range<Int>? {
        var (low, high) = (0, runs.count)
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].value.upperBound <= byte { low = middle + 1 } else { high = middle }
        }
        guard low < runs.count else { return nil }
        let run = runs[low]
        guard run.value.count == run.text.count else { return run.text }
        let place = run.text.lowerBound + max(0, byte - run.value.lowerBound)
        return place..<place + 1
    }
}
