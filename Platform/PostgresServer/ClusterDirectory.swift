import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The folder that holds a cluster in its sub-folder `cluster`, locked for as long as this value lives.
///
/// The cluster is made beside its place and moved there when it is complete, so that a start that was killed leaves
/// none that only looks whole.
final class ClusterDirectory: Sendable {
    let path: String
    private let lock: FolderLock

    var cluster: String { "\(path)/cluster" }
    var stagedCluster: String { "\(path)/cluster.new" }
    var isInitialized: Bool { FileManager.default.fileExists(atPath: "\(cluster)/PG_VERSION") }

    /// Makes the folder if need be; nothing is locked yet.
    private init(_ path: String, for user: ClusterUser) throws(PostgresServerError) {
        self.path = path
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw PostgresServerError(.unusableFolder, "the folder \(path) cannot be made: \(error)")
        }
        // An empty folder, as `mktemp -d` makes it, is for its owner alone: it becomes the user's.
        let names = try? FileManager.default.contentsOfDirectory(atPath: path)
        if names?.isEmpty == true { try user.own(path) }
        if let closed = user.firstClosedFolder(to: "\(path)/cluster"), let other = user.other {
            throw PostgresServerError(
                .unusableFolder,
                "user \(other.name) cannot enter \(closed): choose a folder elsewhere or run chmod o+x \(closed)"
            )
        }
        do {
            lock = try FolderLock(path, mode: 0o644)
        } catch {
            throw PostgresServerError(.unusableFolder, "\(error)")
        }
    }

    /// Makes the folder if need be and locks it.
    ///
    /// - Parameters:
    ///   - path: The folder.
    ///   - user: Who runs Postgres.
    ///   - patience: How long to try.
    ///   - log: Is told if that takes a moment.
    /// - Returns: The folder.
    /// - Throws: `PostgresServerError`, with `directoryInUse` when the patience is over; `CancellationError`.
    static func locked(
        _ path: String, for user: ClusterUser, patience: Duration, log: (String) -> Void
    ) async throws -> ClusterDirectory {
        let directory = try ClusterDirectory(path, for: user)
        let isTaken = try await directory.lock.take(within: patience) {
            log("waiting for another program to leave \(path)")
        }
        guard isTaken else { throw inUse(path, by: nil) }
        return directory
    }

    /// Lets others use the folder.
    func unlock() { lock.release() }

    /// Makes room for `initdb`, as the user who runs it.
    func prepareStage(for user: ClusterUser) throws(PostgresServerError) {
        do {
            if FileManager.default.fileExists(atPath: stagedCluster) {
                try FileManager.default.removeItem(atPath: stagedCluster)
            }
            try FileManager.default.createDirectory(atPath: stagedCluster, withIntermediateDirectories: false)
        } catch {
            throw PostgresServerError(.unusableFolder, "\(stagedCluster) cannot be made: \(error)")
        }
        try user.own(stagedCluster)
    }

    /// Puts what `initdb` has made in its place.
    func commitStage() throws(PostgresServerError) {
        guard rename(stagedCluster, cluster) == 0 else {
            throw PostgresServerError(
                .unusableFolder, "\(stagedCluster) cannot be renamed: \(String(cString: strerror(errno)))")
        }
    }

    /// The postmaster that the cluster's lock file names, if that process runs.
    ///
    /// After a crash of everything the id in the file may belong to any other program by now, which Postgres would
    /// take for a postmaster. On Linux the program's name tells; then the file is removed.
    func livingPostmaster() -> Int32? {
        guard let id = postmasterLines().first.flatMap({ Int32($0) }), id > 0 else { return nil }
        guard kill(id, 0) == 0 || errno == EPERM else { return nil }
        if let name = bytes(ofFile: "/proc/\(id)/comm") {
            guard String(decoding: name, as: UTF8.self).hasPrefix("postgres") else {
                unlink("\(cluster)/postmaster.pid")
                return nil
            }
            // A zombie has this name too, and no memory.
            if bytes(ofFile: "/proc/\(id)/cmdline")?.isEmpty ?? true { return nil }
        }
        return id
    }

    /// Whether the postmaster with this id takes connections.
    func isReady(postmaster id: Int32) -> Bool {
        let lines = postmasterLines()
        return lines.first == String(id) && lines.count > 7 && lines[7] == "ready"
    }

    /// Reads `postmaster.pid`: the process id first, the state in the eighth line; without the file no lines.
    private func postmasterLines() -> [String] {
        guard let bytes = bytes(ofFile: "\(cluster)/postmaster.pid") else { return [] }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return lines.map { line in
            String(decoding: line, as: UTF8.self).split(separator: " ").joined(separator: " ")
        }
    }

    static func inUse(_ path: String, by id: Int32?) -> PostgresServerError {
        let holder = id.map { "process \($0)" } ?? "another program"
        return PostgresServerError(
            .directoryInUse,
            "the data directory \(path) is in use by \(holder): stop it or choose another directory")
    }
}
