import PowerSyncSystem
import PowerSyncYAML

/// The kinds of values; one of another kind fails the start (service 8).
extension ConfigurationReader {
    /// Refuses a key that nobody knows: it could be one that restricts, misspelt.
    func refuseOthers(than known: Set<String>, in node: YAMLNode, of place: String) throws(YAMLError) {
        for (key, value) in node.pairs ?? [] where !known.contains(key.string ?? "") {
            throw value.error("'\(key.string ?? "")' is no key of \(place)")
        }
    }

    /// A node whose keys can be read; nil if it is missing or null.
    func map(_ node: YAMLNode?) throws(YAMLError) -> YAMLNode? {
        guard let node, !node.isNull else { return nil }
        guard node.pairs != nil else { throw node.error("keys with values are expected here") }
        return node
    }

    /// The elements of a list; empty if it is missing or null.
    func list(_ node: YAMLNode?) throws(YAMLError) -> [YAMLNode] {
        guard let node, !node.isNull else { return [] }
        guard let elements = node.elements else { throw node.error("a list is expected here") }
        return elements
    }

    /// The text of a scalar with `!env` replaced; nil if the node is missing or null.
    func text(_ node: YAMLNode?) throws(YAMLError) -> String? { try node?.text(inputs.environment) }

    func number(_ node: YAMLNode?, in range: ClosedRange<Int>) throws(YAMLError) -> Int? {
        guard let node, let text = try text(node) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw node.error("a number from \(range.lowerBound) to \(range.upperBound) is expected here")
        }
        return number
    }

    /// What a key turns on or off; one without a value is no answer, as it may be one that restricts.
    func flag(_ node: YAMLNode?) throws(YAMLError) -> Bool? {
        guard let node else { return nil }
        if node.tag == nil, let flag = node.bool { return flag }
        switch try text(node) {
        case "true": return true
        case "false": return false
        default: throw node.error("true or false is expected here")
        }
    }

    /// Ranges of addresses that are not connected to: `local`, single addresses, or ranges in the form `10.0.0.0/8`.
    func ranges(_ node: YAMLNode?) throws(YAMLError) -> IPRanges {
        if let node, node.isNull { throw node.error("a list is expected here") }
        var ranges = IPRanges()
        for element in try list(node) {
            let text = try text(element) ?? ""
            if text == "local" {
                ranges.formUnion(.local)
            } else if let range = IPRange(text) {
                ranges.insert(range)
            } else {
                throw element.error(
                    "a range is 'local', an address, or an address with a length like 10.0.0.0/8")
            }
        }
        return ranges
    }
}

extension YAMLNode {
    /// The text of a scalar with `!env` replaced; nil if it is null.
    func text(_ environment: [String: String]) throws(YAMLError) -> String? {
        guard !isNull else { return nil }
        guard let text = string else { throw error("a text is expected here") }
        guard let tag else { return text }
        guard tag == "!env" else { throw error("the tag \(tag) is not known") }
        // `!env PS_PORT::number`
        let mark = text.firstRange(of: "::")
        let variable = mark.map { String(text[..<$0.lowerBound]) } ?? text
        guard variable.hasPrefix("PS_") else {
            throw error("variables must begin with PS_: \(variable)")
        }
        guard let value = environment[variable] else { throw error("\(variable) is not set") }
        switch mark.map({ String(text[$0.upperBound...]) }) {
        case nil: break
        case "number"?:
            guard Double(value)?.isFinite == true else { throw error("\(variable) is no number") }
        case "boolean"?:
            guard value == "true" || value == "false" else {
                throw error("\(variable) is neither true nor false")
            }
        case let kind?: throw error("'\(kind)' is no kind of a variable: number or boolean")
        }
        return value
    }
}
