import PowerSyncWire
import PowerSyncYAML

/// Reads parts of the catalogue's files, and says in which line and column something is wrong.
struct CaseReader {
    /// The name of the file, for errors.
    let source: String

    /// Reads a text as YAML; a text without a document is an error.
    func root(_ yaml: String) throws(ContractError) -> YAMLNode {
        do throws(YAMLError) {
            guard let root = try YAMLNode.parse(yaml) else {
                throw YAMLError("the file is empty", line: 1, column: 1)
            }
            return root
        } catch {
            throw ContractError(.catalogue, "\(source) \(error)")
        }
    }

    /// Makes an error that points at a node.
    func error(_ node: YAMLNode, _ message: String) -> ContractError {
        ContractError(.catalogue, "\(source) \(node.error(message))")
    }

    /// The pairs of a mapping.
    func members(
        _ node: YAMLNode, _ what: String
    ) throws(ContractError) -> [(key: YAMLNode, value: YAMLNode)] {
        guard let pairs = node.pairs else { throw error(node, "\(what): expected a mapping") }
        return pairs
    }

    /// The elements of a sequence.
    func elements(_ node: YAMLNode, _ what: String) throws(ContractError) -> [YAMLNode] {
        guard let elements = node.elements else { throw error(node, "\(what): expected a list") }
        return elements
    }

    /// A text.
    func text(_ node: YAMLNode) throws(ContractError) -> String {
        guard let text = node.string, !node.isNull else { throw error(node, "expected a text") }
        return text
    }

    /// A list of texts.
    func list(_ node: YAMLNode, _ what: String) throws(ContractError) -> [String] {
        try elements(node, what).map { (node) throws(ContractError) in try text(node) }
    }

    /// A mapping of texts to texts; numbers and truth values are taken as they are spelled.
    func texts(_ node: YAMLNode) throws(ContractError) -> [String: String] {
        var texts: [String: String] = [:]
        for (key, value) in try members(node, "texts") {
            let name = try text(key)
            texts[name] = try text(value)
        }
        return texts
    }

    /// A truth value.
    func bool(_ node: YAMLNode) throws(ContractError) -> Bool {
        guard let value = node.bool else { throw error(node, "expected true or false") }
        return value
    }

    /// A whole number of at least one.
    func count(_ node: YAMLNode) throws(ContractError) -> Int {
        guard let value = node.int, value > 0 else { throw error(node, "expected a number of at least 1") }
        return value
    }

    /// One of the words that an enumeration knows.
    func word<Word: RawRepresentable>(
        _ node: YAMLNode, _ type: Word.Type
    ) throws(ContractError) -> Word where Word.RawValue == String {
        let text = try text(node)
        guard let word = Word(rawValue: text) else {
            throw error(node, "\(text) is none of the words that may stand here")
        }
        return word
    }

    /// A value of JSON.
    ///
    /// A plain scalar that JSON would spell so is null, a truth value or a number, any other one a text.
    func json(_ node: YAMLNode) throws(ContractError) -> JSON {
        switch node.kind {
        case .scalar(let text, let style):
            guard style == .plain else { return .string(text) }
            if node.isNull { return .null }
            if let value = node.bool { return .bool(value) }
            // Not an error: what is no number is a text.
            if let number = try? JSON.parse(text), case .number = number { return number }
            return .string(text)
        case .sequence(let elements):
            return .array(try elements.map { (element) throws(ContractError) in try json(element) })
        case .mapping: return .object(try object(node))
        }
    }

    /// The members of an object.
    func object(_ node: YAMLNode) throws(ContractError) -> [JSONMember] {
        var members: [JSONMember] = []
        for (key, value) in try self.members(node, "object") {
            members.append(JSONMember(try text(key), try json(value)))
        }
        return members
    }

    /// Transactions: a list of lists of operations, each with `op`.
    func transactions(_ node: YAMLNode) throws(ContractError) -> [[JSON]] {
        try elements(node, "transactions").map { (node) throws(ContractError) in
            try elements(node, "a transaction").map { (node) throws(ContractError) in
                .object(try object(node))
            }
        }
    }
}
