/// The scenarios that a service may refuse or not be asked, each with the reason.
package struct MissingConstructs: Sendable {
    /// The reason of each scenario: a part of what the service says, or of why it is not asked.
    package let byName: [String: String]

    /// Makes an empty list.
    package init() { byName = [:] }

    /// Reads a list: a line for each scenario, its name, white space, the reason; `#` begins a remark.
    ///
    /// - Parameters:
    ///   - text: the list.
    ///   - list: what it is called in messages.
    /// - Throws: `StackError` with `.file` for a line without a reason, or a name that stands twice.
    package init(parsing text: String, named list: String = "the list") throws(StackError) {
        var byName: [String: String] = [:]
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.split(separator: " ", maxSplits: 1)
            guard let name = words.first, !name.hasPrefix("#") else { continue }
            let construct = words.count == 2 ? String(words[1].drop { $0 == " " }) : ""
            guard !construct.isEmpty, byName.updateValue(construct, forKey: String(name)) == nil else {
                throw StackError(
                    .file, "\(list):\(index + 1): a line is the name of a scenario, once, and the reason")
            }
        }
        self.byName = byName
    }

    /// Tells why a reason is not the listed one.
    ///
    /// - Parameters:
    ///   - reason: what the service said, or why it was not asked.
    ///   - name: the scenario.
    ///   - verb: what became of it.
    /// - Returns: nil if it is the listed one.
    package func objection(to reason: String, of name: String, _ verb: String) -> String? {
        guard let listed = byName[name] else { return "\(verb), which is not listed: \(reason)" }
        if reason.contains(listed) { return nil }
        return "listed with \(listed), but \(verb) for another reason: \(reason)"
    }
}
