import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where a database is.
enum DatabaseLocation: Sendable {
    /// In memory, of nobody but the instance that made it.
    case memory
    /// In a file.
    ///
    /// `path` is as the app names it, for SQLite and for messages. `resolved` is the same without links, `.` and `..`,
    /// one text for one file: instances with the same one belong together, and SQLite names the files beside it so.
    case file(path: String, resolved: String)
    /// Wherever a pool of the app's own has it; instances with the same identifier belong together.
    case pool(identifier: String)

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
            throw PowerSyncError(.invalidArgument, "A database needs a file name")
        } else if Self.isAbsolute(name) {
            self = .file(path: name, resolved: Self.resolved(name))
        } else {
            let path = try Self.defaultDirectory(environment) + "/" + name
            self = .file(path: path, resolved: Self.resolved(path))
        }
    }

    private static func defaultDirectory(_ environment: [String: String]) throws(PowerSyncError) -> String {
        if let directory = environment[directoryVariable], !directory.isEmpty {
            guard isAbsolute(directory) else {
                throw PowerSyncError(.invalidArgument, "\(directoryVariable) has to be an absolute path")
            }
            return directory
        }
        guard
            let base = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
        else { throw PowerSyncError(.fileAccess, "There is no directory for application data") }
        #if canImport(Darwin)
            return base.appendingPathComponent("databases").path
        #else
            // All programs of a user share the directory: each gets its own below it.
            return base.appendingPathComponent(ProcessInfo.processInfo.processName)
                .appendingPathComponent("databases").path
        #endif
    }

    /// By bytes: to `Character` a slash and a combining mark behind it are one.
    private static func isAbsolute(_ path: String) -> Bool { path.utf8.first == UInt8(ascii: "/") }

    /// How many symbolic links of a path are followed: those that lead to each other would never end.
    private static let longestChain = 40

    /// Resolves links, `.` and `..` one after the other, as SQLite does: `..` leads out of where a link points.
    ///
    /// What is not there yet is no link.
    private static func resolved(_ path: String) -> String {
        var rest = Self.parts(path)
        var found: [Substring] = []
        var links = 0
        while let part = rest.popLast() {
            switch part {
            case ".": continue
            case "..": _ = found.popLast()
            default:
                let place = "/" + (found + [part]).joined(separator: "/")
                // It fails for what is no link, and for what is not there.
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: place)
                guard let target, links < Self.longestChain else {
                    found.append(part)
                    continue
                }
                links += 1
                if Self.isAbsolute(target) { found = [] }
                rest += Self.parts(target)
            }
        }
        return "/" + found.joined(separator: "/")
    }

    /// The parts of a path, the last one first.
    private static func parts(_ path: String) -> [Substring] {
        path.utf8.split(separator: UInt8(ascii: "/")).reversed().map { Substring($0) }
    }

    /// The path without links, which names the files beside the database; nil where there are none, or none are known.
    var resolved: String? {
        if case .file(_, let resolved) = self { resolved } else { nil }
    }

    /// The files that belong to the database.
    var files: [String] {
        resolved.map { path in ["", "-wal", "-shm", "-journal", SyncLock.ending].map { path + $0 } } ?? []
    }
}

extension DatabaseLocation: Hashable {
    #if canImport(Darwin)
        /// A path as the system tells files apart: "é" as one scalar and as two name one file there.
        private typealias PathKey = String
    #else
        /// A path as the system tells files apart: by its bytes.
        private typealias PathKey = ExactText
    #endif

    /// Whether both are the same place, however the way there is written.
    static func == (left: DatabaseLocation, right: DatabaseLocation) -> Bool {
        switch (left, right) {
        case (.memory, .memory): true
        case (.file(_, let left), .file(_, let right)): PathKey(left) == PathKey(right)
        // An app may name its users so, whom a service tells apart by bytes.
        case (.pool(let left), .pool(let right)): ExactText(left) == ExactText(right)
        default: false
        }
    }

    func hash(into hasher: inout Hasher) {
        switch self {
        case .memory: hasher.combine(0)
        case .file(_, let resolved): hasher.combine(PathKey(resolved))
        case .pool(let identifier):
            hasher.combine(1)
            hasher.combine(ExactText(identifier))
        }
    }
}
