import PowerSyncSyncRules
import PowerSyncYAML

/// The text of a sync config, and the file that its places are of.
struct CheckedConfiguration: Sendable {
    /// The file, as messages name it.
    let file: String
    /// The text of the file.
    let source: SourceText
    /// The sync config.
    let text: String
    /// The way from the sync config to the file; nil if it is the whole file.
    let map: ScalarMap?

    private init(file: String, source: SourceText, text: String, map: ScalarMap?) {
        self.file = file
        self.source = source
        self.text = text
        self.map = map
    }

    /// Takes a file that is a sync config.
    ///
    /// - Parameters:
    ///   - file: The file, as messages name it.
    ///   - text: Its text.
    init(file: String, text: String) {
        self.init(file: file, source: SourceText(text), text: text, map: nil)
    }

    /// Reads a sync config, or that of a service configuration: its own text, or the file that it names.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - environment: The variables for `!env`.
    ///   - readFile: Reads a file.
    /// - Returns: The sync config; also of a text that is no YAML, which is told as a mistake of it.
    /// - Throws: `StackError` with `.file` for a file that cannot be read, and a service configuration without one.
    static func read(
        _ path: String, environment: [String: String],
        readFile: (String) throws(StackError) -> String = { path throws(StackError) in
            try TextFile.read(path)
        }
    ) throws(StackError) -> CheckedConfiguration {
        let text = try readFile(path)
        guard let root = YAMLDocument(text).root, isService(root) else {
            return CheckedConfiguration(file: path, text: text)
        }
        guard let node = root["sync_config"] ?? root["sync_rules"] else {
            throw StackError(.file, "\(path): 'sync_config' is missing: its 'path' or 'content'")
        }
        if let named = node["path"], !named.isNull {
            // Paths are relative to the folder of the service configuration.
            let relative = try value(named, environment, file: path)
            let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
            let other = relative.hasPrefix("/") ? relative : folder + relative
            return CheckedConfiguration(file: other, text: try readFile(other))
        }
        guard let content = node["content"], !content.isNull else {
            throw StackError(.file, "\(path): 'sync_config' has neither 'path' nor 'content'")
        }
        let source = SourceText(text)
        let whole = TextRange(start: content.start, end: content.end)
        let isVariable = content.tag != nil
        return CheckedConfiguration(
            file: path, source: source, text: try value(content, environment, file: path),
            map: isVariable ? ScalarMap(runs: [], whole: whole) : ScalarMap(content, in: source.bytes))
    }

    private static func isService(_ root: YAMLNode) -> Bool {
        ["replication", "sync_config", "sync_rules"].contains { root[$0] != nil }
    }

    /// The text of a scalar, or of the variable that it names with `!env` (service 8).
    private static func value(
        _ node: YAMLNode, _ environment: [String: String], file: String
    ) throws(StackError) -> String {
        func failure(_ message: String) -> StackError {
            StackError(.file, "\(file):\(node.line):\(node.column): \(message)")
        }
        guard let text = node.string else { throw failure("a text is expected here") }
        guard let tag = node.tag else { return text }
        guard tag == "!env" else { throw failure("the tag \(tag) is not known") }
        let variable = text.firstRange(of: "::").map { String(text[..<$0.lowerBound]) } ?? text
        guard let value = environment[variable] else { throw failure("\(variable) is not set") }
        return value
    }
}
