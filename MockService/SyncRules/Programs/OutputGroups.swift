/// Which programs of a table make the same output of a row, so that it is made once a row.
package enum OutputGroups {
    /// Numbers outputs.
    ///
    /// - Parameter outputs: For each program what its output is, equal if it is the same, and whether the program may
    ///   need it several times; nil if the output differs from place to place.
    /// - Returns: For each program the number of its output, from 0 on; nil if it is needed once, or differs.
    package static func numbers<Output: Hashable>(
        _ outputs: [(output: Output, isRepeated: Bool)?]
    ) -> [Int?] {
        var counts: [Output: Int] = [:]
        for case let output? in outputs { counts[output.output, default: 0] += output.isRepeated ? 2 : 1 }
        var numbers: [Output: Int] = [:]
        return outputs.map { output in
            guard let output, counts[output.output, default: 0] > 1 else { return nil }
            if let number = numbers[output.output] { return number }
            let number = numbers.count
            numbers[output.output] = number
            return number
        }
    }
}
