/// Decides which neighbouring segments of a bucket are packed anew (DESIGN.md, 1).
struct MergeRule: Sendable {
    /// A segment, as far as the rule asks.
    struct Segment: Sendable, Hashable {
        /// Its id in the file.
        let id: Int64
        /// How many bytes its body has.
        let byteCount: Int
    }

    /// What is small, and how much is merged at once.
    let limits: StoreLimits

    /// Chooses neighbours, all of them small, from where most of these stand together.
    ///
    /// Of a run that is longer than one transaction writes the oldest are chosen, so that what does not fill a segment
    /// stands beside the next ones. Else an older segment stays as it is if it is more than twice as long as all
    /// behind it, unless that would leave out most of the run: so an operation is not written again with each merge.
    ///
    /// - Parameter segments: Segments of one bucket that stand side by side, the oldest first.
    /// - Returns: At least two, in their order; none if no two small ones are neighbours.
    func choice(among segments: [Segment]) -> ArraySlice<Segment> {
        let runs = segments.split { $0.byteCount >= limits.smallSegmentBytes }
        guard let run = runs.max(by: { $0.count < $1.count }), run.count > 1 else { return [] }
        guard run.reduce(0, { $0 + $1.byteCount }) <= limits.mergeBytes else { return oldest(of: run) }
        let newest = newest(of: run)
        return newest.count * 2 < run.count || newest.count < 2 ? run : newest
    }

    /// As many as one transaction writes, but two at least.
    private func oldest(of run: ArraySlice<Segment>) -> ArraySlice<Segment> {
        var (end, bytes) = (run.startIndex, 0)
        while end < run.endIndex {
            bytes += run[end].byteCount
            if bytes > limits.mergeBytes, end - run.startIndex >= 2 { break }
            end += 1
        }
        return run[..<end]
    }

    /// Those of which none is more than twice as long as all behind it.
    private func newest(of run: ArraySlice<Segment>) -> ArraySlice<Segment> {
        var (start, bytes) = (run.endIndex - 1, 0)
        bytes += run[start].byteCount
        while start > run.startIndex, run[start - 1].byteCount <= 2 * bytes {
            start -= 1
            bytes += run[start].byteCount
        }
        return run[start...]
    }
}
