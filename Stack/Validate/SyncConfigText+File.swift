import PowerSyncMockService
import PowerSyncSystem
import PowerSyncYAML

extension SyncConfigText {
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
        readFile: (String) throws(SystemError) -> String = { path throws(SystemError) in
            try FileBytes.text(ofFile: path)
        }
    ) throws(StackError) -> SyncConfigText {
        let text: String
        do throws(SystemError) {
            text = try readFile(path)
        } catch {
            throw StackError(.file, "\(error)")
        }
        guard let root = YAMLDocument(text).root, isService(root) else {
            return SyncConfigText(file: path, text: text)
        }
        do throws(YAMLError) {
            return try read(root, of: text, named: path, environment: environment, readFile: readFile)
        } catch {
            throw StackError(.file, "\(path):\(error.line):\(error.column): \(error.message)")
        }
    }

    private static func isService(_ root: YAMLNode) -> Bool {
        ["replication", "sync_config", "sync_rules"].contains { root[$0] != nil }
    }
}
