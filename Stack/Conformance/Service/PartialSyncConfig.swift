import PowerSyncCrypto
import PowerSyncWire
import PowerSyncYAML

/// A sync config without the streams that a service refuses.
package struct PartialSyncConfig: Sendable {
    /// The text of what is left.
    package let text: String
    /// The names of the streams that were dropped.
    package let dropped: Set<String>

    /// Drops streams until the rest is accepted.
    ///
    /// - Parameters:
    ///   - text: the YAML.
    ///   - isAccepted: whether the service accepts a text.
    /// - Returns: the text as it is if it is accepted, else what is left; nil if no part of it is accepted.
    package static func reduce(_ text: String, isAccepted: (String) -> Bool) -> PartialSyncConfig? {
        if isAccepted(text) { return PartialSyncConfig(text: text, dropped: []) }
        // What is no YAML has no parts.
        guard let root = try? YAMLNode.parse(text), let pairs = root.pairs,
            let streams = root["streams"]?.pairs
        else { return nil }
        func config(_ chosen: [(key: YAMLNode, value: YAMLNode)]) -> String {
            let members = pairs.map { pair in
                pair.key.string == "streams"
                    ? JSONMember("streams", .object(chosen.map(member))) : member(pair)
            }
            return JSON.object(members).text
        }
        let accepted = streams.filter { isAccepted(config([$0])) }
        let rest = config(accepted)
        guard !accepted.isEmpty, isAccepted(rest) else { return nil }
        let names = Set(streams.compactMap(\.key.string)).subtracting(accepted.compactMap(\.key.string))
        // Two texts stay two: the real service deploys again for a comment more.
        let digest = Base64URL.encode(Digest.sha256(Array(text.utf8)))
        return PartialSyncConfig(text: rest + "\n# of the text with SHA-256 \(digest)\n", dropped: names)
    }

    private static func member(_ pair: (key: YAMLNode, value: YAMLNode)) -> JSONMember {
        JSONMember(pair.key.string ?? "", json(pair.value))
    }

    /// JSON is YAML: nodes as they are, in their order.
    private static func json(_ node: YAMLNode) -> JSON {
        if let elements = node.elements { return .array(elements.map(json)) }
        if let pairs = node.pairs { return .object(pairs.map(member)) }
        if node.isNull { return .null }
        if let bool = node.bool { return .bool(bool) }
        if let number = node.int { return .integer(number) }
        return .string(node.string ?? "")
    }
}
