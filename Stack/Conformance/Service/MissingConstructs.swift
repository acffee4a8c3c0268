/// The scenarios that a service may refuse, each with the construct that it does not know.
package struct MissingConstructs: Sendable {
    /// The construct of each scenario.
    package let byName: [String: String]

    /// Reads a list: a line for each scenario, its name, white space, the construct; `#` begins a remark.
    ///
    /// - Parameter text: the list.
    /// - Throws: `StackError` with `.file` for a line without a construct, or a name that stands twice.
    package init(parsing text: String) throws(StackError) {
        var byName: [String: String] = [:]
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.split(separator: " ", maxSplits: 1)
            guard let name = words.first, !name.hasPrefix("#") else { continue }
            let construct = words.count == 2 ? String(words[1].drop { $0 == " " }) : ""
            guard !construct.isEmpty, byName.updateValue(construct, forKey: String(name)) == nil else {
                throw StackError(
                    .file, "line \(index + 1): a line is the name of a scenario, once, and what it needs")
            }
        }
        self.byName = byName
    }
}
