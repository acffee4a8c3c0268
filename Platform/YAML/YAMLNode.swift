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
    /// How a scalar is written.
    package enum Style: Sendable, Hashable {
        /// Without quotes; it may mean a number, a truth value or null.
        case plain
        /// In single quotes.
        case single
        /// In double quotes.
        case double
        /// Line by line, behind `|`.
        case literal
        /// With lines joined, behind `>`.
        case folded
    }

    /// What a node holds.
    package indirect enum Kind: Sendable {
        /// A text and how it is written.
        case scalar(String, Style)
        /// Nodes in order.
        case sequence([YAMLNode])
        /// Pairs in order, no key twice.
        case mapping([(key: YAMLNode, value: YAMLNode)])
    }

    /// What it holds.
    package let kind: Kind
    /// Its own tag such as `!env`; nil for those of YAML itself.
    package let tag: String?
    /// The line on which it begins, with its tag and anchor, from 1.
    package let line: Int
    /// The column in which it begins, from 1, in characters.
    package let column: Int
    /// The byte of that line and column: of its tag or anchor, if it has one.
    package let outerStart: Int
    /// Its first byte in the text, behind its tag and its anchor.
    package let start: Int
    /// The byte behind its last one; of a collection without brackets that of its last node.
    package let end: Int
    /// The end with blanks, comment and line end behind it, but for a node that is not there.
    ///
    /// It is that of the last line for a block scalar, without the blank lines that are not kept.
    package let fullEnd: Int

    /// The value of a key, nil if this is no mapping or has no such key.
    package subscript(_ key: String) -> YAMLNode? {
        guard case .mapping(let pairs) = kind else { return nil }
        return pairs.first { $0.key.string == key }?.value
    }

    /// The text of a scalar, quoted or plain; nil for collections.
    package var string: String? {
        if case .scalar(let text, _) = kind { text } else { nil }
    }

    /// How a scalar is written; nil for collections.
    package var style: Style? {
        if case .scalar(_, let style) = kind { style } else { nil }
    }

    /// The truth value that a plain scalar means in the core schema of YAML 1.2: `yes` and `on` are texts.
    package var bool: Bool? {
        guard case .scalar(let text, .plain) = kind else { return nil }
        switch text {
        case "true", "True", "TRUE": return true
        case "false", "False", "FALSE": return false
        default: return nil
        }
    }

    /// The whole number that a plain scalar means in the core schema.
    package var int: Int? {
        guard case .scalar(let text, .plain) = kind else { return nil }
        if text.hasPrefix("0x") { return Int(text.dropFirst(2), radix: 16) }
        if text.hasPrefix("0o") { return Int(text.dropFirst(2), radix: 8) }
        return Int(text)
    }

    /// The number that a plain scalar means in the core schema, whole ones included.
    package var number: Double? {
        if let int { return Double(int) }
        guard case .scalar(let text, .plain) = kind else { return nil }
        let digits = text.first == "-" || text.first == "+" ? text.dropFirst() : Substring(text)
        switch digits {
        case ".inf", ".Inf", ".INF": return text.first == "-" ? -.infinity : .infinity
        case ".nan", ".NaN", ".NAN": return digits.count == text.count ? .nan : nil
        default:
            // What `Double` takes beside decimal digits is a text in YAML: `nan`, `0x1p3`.
            guard let first = digits.utf8.first, first == UInt8(ascii: ".") || (0x30...0x39).contains(first),
                digits.utf8.allSatisfy({ (0x30...0x39).contains($0) || ".eE+-".utf8.contains($0) })
            else { return nil }
            return Double(text)
        }
    }

    /// Whether a plain scalar means null: nothing at all, `~` or `null`.
    package var isNull: Bool {
        guard case .scalar(let text, .plain) = kind else { return false }
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
    package func error(_ message: String) -> YAMLError {
        YAMLError(message, line: line, column: column, offset: start)
    }
}
