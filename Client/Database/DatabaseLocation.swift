import Foundation

/// Where a database is.
enum DatabaseLocation: Sendable, Hashable {
    /// In memory, of nobody but the instance that made it.
    case memory
    /// In a file; all instances with the same path belong together.
    case file(path: String)

    /// The variable that names the directory of databases without an absolute path.
    static let directoryVariable = "POWERSYNC_DATA_DIR"

    /// Finds the place for a name (client-api 2.1).
    ///
    /// - Parameters:
    ///   - name: `:memory:`, an absolute path, or a path in the default directory.
    ///   - environment: the environment's variables.
    /// - Throws: `operationFailed` for a name that says nothing.
    init(
        named name: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(PowerSyncError) {
        if name == ":memory:" {
            self = .memory
        } else if name.isEmpty {
            throw .operationFailed(message: "A database needs a file name")
        } else if name.hasPrefix("/") {
            self = .file(path: Self.canonical(name))
        } else {
            self = .file(path: Self.canonical(try Self.defaultDirectory(environment) + "/" + name))
        }
    }

    private static func defaultDirectory(_ environment: [String: String]) throws(PowerSyncError) -> String {
        if let directory = environment[directoryVariable], !directory.isEmpty {
            guard directory.hasPrefix("/") else {
                throw .operationFailed(message: "\(directoryVariable) has to be an absolute path")
            }
            return directory
        }
        guard
            let base = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
        else { throw .operationFailed(message: "There is no directory for application data") }
        #if canImport(Darwin)
            return base.appendingPathComponent("databases").path
        #else
            // All programs of a user share the directory: each gets its own below it.
            let program = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
            return base.appendingPathComponent(program).appendingPathComponent("databases").path
        #endif
    }

    /// Resolves `.`, `..` and symbolic links of the part that exists, so that one file has one path.
    private static func canonical(_ path: String) -> String {
        var existing = URL(fileURLWithPath: path).standardizedFileURL
        var missing: [String] = []
        // Links are resolved only where there is something: not yet for a file that is to be created.
        while existing.path != "/", !FileManager.default.fileExists(atPath: existing.path) {
            missing.append(existing.lastPathComponent)
            existing = existing.deletingLastPathComponent()
        }
        return missing.reversed().reduce(existing.resolvingSymlinksInPath()) { $0.appendingPathComponent($1) }
            .path
    }

    /// The files that belong to the database.
    var files: [String] {
        switch self {
        case .memory: []
        case .file(let path): ["", "-wal", "-shm", "-journal"].map { path + $0 }
        }
    }
}
