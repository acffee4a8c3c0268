/// What a text holds, as far as it is YAML.
package struct YAMLDocument: Sendable {
    /// The root; nil for a text without a document, and if the parser gave up.
    package let root: YAMLNode?
    /// The keys that stand in their mapping already, with the errors about them; the root has both.
    package let duplicates: [(key: YAMLNode, error: YAMLError)]
    /// Where the parser gave up; nil if it has read all.
    package let failure: YAMLError?

    /// All that is wrong: keys, then where the parser gave up.
    package var errors: [YAMLError] { duplicates.map { $0.error } + [failure].compactMap { $0 } }

    /// Reads one document, and tells all that is wrong in it.
    ///
    /// - Parameters:
    ///   - text: The text, at most 16 MiB.
    ///   - nodeLimit: How many nodes the document may have once its aliases are expanded; a long text counts as one
    ///     more for each 1,024 bytes.
    package init(_ text: String, nodeLimit: Int = 200_000) {
        guard text.utf8.count <= 16 << 20 else {
            self.init(
                root: nil, duplicates: [],
                failure: YAMLError("the text is larger than 16 MiB", line: 1, column: 1))
            return
        }
        guard !Self.hasManyTags(text) else {
            self.init(
                root: nil, duplicates: [],
                failure: YAMLError(
                    "the text has more than \(Self.tagLimit) lines of %TAG", line: 1, column: 1))
            return
        }
        // The parser keeps the pointer to its input, so all of its work happens while the bytes stand still.
        let bytes = Array(text.utf8)
        self = bytes.withUnsafeBufferPointer { input -> YAMLDocument in
            var parser = EventParser(nodeLimit: nodeLimit, end: Place(behind: text), bytes: bytes)
            defer { parser.close() }
            switch parser.parse(input) {
            case .success(let root):
                return YAMLDocument(root: root, duplicates: parser.duplicates, failure: nil)
            case .failure(let error):
                return YAMLDocument(root: nil, duplicates: parser.duplicates, failure: error)
            }
        }
    }

    /// How many tags a text may name: the parser compares each with all before it.
    private static let tagLimit = 100

    private static func hasManyTags(_ text: String) -> Bool {
        let tag = Array("%TAG".utf8)
        var count = 0
        var isLineStart = true
        var rest = text.utf8[...]
        while let byte = rest.first {
            if isLineStart, byte == tag[0], rest.starts(with: tag) { count += 1 }
            // What ends a line of YAML 1.1 beside these needs several bytes, of which one is followed by a percent sign.
            isLineStart = byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") || byte >= 0x80
            rest = rest.dropFirst()
        }
        return count > tagLimit
    }

    private init(root: YAMLNode?, duplicates: [(key: YAMLNode, error: YAMLError)], failure: YAMLError?) {
        self.root = root
        self.duplicates = duplicates
        self.failure = failure
    }
}

extension YAMLNode {
    /// Reads one document.
    ///
    /// - Parameters:
    ///   - text: the text, at most 16 MiB.
    ///   - nodeLimit: how many nodes the document may have once its aliases are expanded; a long text counts as
    ///     one more for each 1,024 bytes.
    /// - Returns: the root; nil for a text without a document.
    /// - Throws: `YAMLError` with the place, also for a key that stands twice in one mapping.
    package static func parse(_ text: String, nodeLimit: Int = 200_000) throws(YAMLError) -> YAMLNode? {
        let document = YAMLDocument(text, nodeLimit: nodeLimit)
        if let error = document.errors.first { throw error }
        return document.root
    }
}
