/// Arithmetic with counts that come from outside and may be nonsense.
extension Int64 {
    /// Returns the sum, or the nearest value there is.
    func addingSaturated(_ other: Int64) -> Int64 {
        let (sum, isOver) = addingReportingOverflow(other)
        return isOver ? (other < 0 ? .min : .max) : sum
    }

    /// Returns the difference, or the nearest value there is.
    func subtractingSaturated(_ other: Int64) -> Int64 {
        let (difference, isOver) = subtractingReportingOverflow(other)
        return isOver ? (other < 0 ? .max : .min) : difference
    }
}
