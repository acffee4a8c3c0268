import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncYAML

/// The text of a sync config, and the file that its places are of.
package struct SyncConfigText: Sendable {
    /// The file, as messages name it.
    package let file: String
    /// The text of the file.
    package let source: SourceText
    /// The sync config.
    package let text: String
    /// The way from the sync config to the file; nil if it is the whole file.
    package let map: ScalarMap?

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
    package init(file: String, text: String) {
        self.init(file: file, source: SourceText(text), text: text, map: nil)
    }

    /// Reads the sync config of a service configuration: its own text, or the file that it names (service 8).
    ///
    /// The service and those who check its configuration read it here, so that they take and refuse the same.
    ///
    /// - Parameters:
    ///   - root: The service configuration.
    ///   - text: The text that it was read from.
    ///   - file: What that is called; paths are relative to its folder.
    ///   - environment: The variables for `!env`.
    ///   - readFile: Reads a file.
    /// - Returns: The sync config.
    /// - Throws: `YAMLError` if there is none, or it cannot be read.
    package static func read(
        _ root: YAMLNode, of text: String, named file: String, environment: [String: String],
        readFile: (String) throws(SystemError) -> String
    ) throws(YAMLError) -> SyncConfigText {
        guard let node = root["sync_config"] ?? root["sync_rules"] else {
            throw root.error("'sync_config' is missing: its 'path' or 'content'")
        }
        if let named = node["path"], let path = try named.text(environment) {
            let folder = file.lastIndex(of: "/").map { String(file[...$0]) } ?? ""
            let other = path.hasPrefix("/") ? path : folder + path
            do throws(SystemError) {
                return SyncConfigText(file: other, text: try readFile(other))
            } catch {
                let reason = error.isMissingFile ? "is not there" : "cannot be read: \(error.reason)"
                throw named.error("the sync config '\(path)' \(reason)")
            }
        }
        guard let content = node["content"], let value = try content.text(environment) else {
            throw node.error("'path' or 'content' is missing")
        }
        let source = SourceText(text)
        // What stands in a variable stands nowhere in the file.
        let whole = TextRange(start: content.start, end: content.end)
        let map =
            content.tag == nil ? ScalarMap(content, in: source.bytes) : ScalarMap(runs: [], whole: whole)
        return SyncConfigText(file: file, source: source, text: value, map: map)
    }

    /// All that is told of what it was compiled to, with places of the file.
    package func diagnostics(of config: CompiledConfig) -> [PlacedDiagnostic] {
        PlacedDiagnostic.all(of: config, in: source, through: map)
    }
}
