/// What a local stack shall be.
package struct LocalStackConfiguration: Sendable {
    /// The address on which backend and service listen; Postgres stays on 127.0.0.1.
    package var host = "127.0.0.1"
    /// The backend's port, 0 for any.
    package var backendPort = 0
    /// The service's port, 0 for any.
    package var servicePort = 0
    /// The path of `powersync-stack`, which is started for each part.
    package var executable: String
    /// The sync configuration; nil: every published table to everyone.
    package var syncConfig: SyncConfig?
    /// The path of the table file; nil: the backend may write every published table.
    package var tableMap: String?
    /// SQL for an empty database.
    package var schema: String?
    /// Where state, keys and configuration live.
    package var folder: String
    /// A descriptor for the logs of the parts; nil for standard error.
    package var log: Int32?
    /// The least severe level that the parts log.
    package var logLevel = "info"
    /// More environment for the backend, such as `JWT_TTL`; it wins over what the stack sets.
    package var backendEnvironment: [String: String] = [:]

    /// The host as the backend listens on it, to which an empty one is none.
    var listeningHost: String { host.isEmpty ? "0.0.0.0" : host }

    /// The host as it stands in a URL for clients on this machine.
    package var urlHost: String {
        if host == "0.0.0.0" || host == "::" || host.isEmpty { return "127.0.0.1" }
        return host.contains(":") ? "[\(host)]" : host
    }

    /// Where a sync configuration comes from; the service names a file in its errors.
    package enum SyncConfig: Sendable {
        /// The text itself.
        case text(String)
        /// The absolute path of a file.
        case file(String)
    }

    /// Makes a configuration with the defaults.
    ///
    /// - Parameters:
    ///   - executable: the path of `powersync-stack`.
    ///   - folder: an existing folder for state, keys and configuration.
    package init(executable: String, folder: String) {
        self.executable = executable
        self.folder = folder
    }
}
