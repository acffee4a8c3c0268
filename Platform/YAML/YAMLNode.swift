extension Unicode.Scalar {
    /// Whether it ends a line of YAML 1.1, in which CR LF is one end.
    package var endsYAMLLine: Bool {
        switch self {
        case "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}": true
        default: false
        }
    }
}

/// One node of a YAML document, with its place in the text.
package struct YAMLNode: Sendable {
    /// What a node holds.
    package indirect enum Kind: Sendable {
        /// A text; plain ones, without quotes, may mean a number, a truth value or null.
        case scalar(String, plain: Bool)
        /// Nodes in order.
        case sequence([YAMLNode])
        /// Pairs in order, no key twice.
        case mapping([(key: YAMLNode, value: YAMLNode)])
    }

    /// What it holds.
    package let kind: Kind
    /// Its own tag such as `!env`; nil for those of YAML itself.
    package let tag: String?
    /// The line on which it begins, from 1.
    package let line: Int
    /// The column in which it begins, from 1, in characters.
    package let column: Int
    /// Where it begins in the text, in Unicode scalars.
    package let offset: Int
    /// Where it ends in the text, in Unicode scalars.
    package let endOffset: Int

    /// The value of a key, nil if this is no mapping or has no such key.
    package subscript(_ key: String) -> YAMLNode? {
        guard case .mapping(let pairs) = kind else { return nil }
        return pairs.first { $0.key.string == key }?.value
    }

    /// The text of a scalar, quoted or plain; nil for collections.
    package var string: String? {
        if case .scalar(let text, _) = kind { text } else { nil }
    }

    /// The truth value that a plain scalar means in the core schema of YAML 1.2: `yes` and `on` are texts.
    package var bool: Bool? {
        guard case .scalar(let text, plain: true) = kind else { return nil }
        switch text {
        case "true", "True", "TRUE": return true
        case "false", "False", "FALSE": return false
        default: return nil
        }
    }

    /// The whole number that a plain scalar means in the core schema.
    package var int: Int? {
        guard case .scalar(let text, plain: true) = kind else { return nil }
        if text.hasPrefix("0x") { return Int(text.dropFirst(2), radix: 16) }
        if text.hasPrefix("0o") { return Int(text.dropFirst(2), radix: 8) }
        return Int(text)
    }

    /// Whether a plain scalar means null: nothing at all, `~` or `null`.
    package var isNull: Bool {
        guard case .scalar(let text, plain: true) = kind else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(text)
    }

    /// The elements of a sequence, nil for other kinds.
    package var elements: [YAMLNode]? {
        if case .sequence(let elements) = kind { elements } else { nil }
    }

    /// The pairs of a mapping, nil for other kinds.
    package var pairs: [(key: YAMLNode, value: YAMLNode)]? {
        if case .mapping(let pairs) = kind { pairs } else { nil }
    }

    /// Makes an error that points at this node.
    package func error(_ message: String) -> YAMLError { YAMLError(message, line: line, column: column) }
}
