import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Removes the folder of a server that is being started, should we die meanwhile.
///
/// While it waits for another program, and between `initdb` and the server, no shell of a `WatchedProcess` would do so.
struct RunFolderRemover: Sendable {
    private let shell: ChildProcess

    /// Starts the shell; without it the folder, which is empty, does not stay.
    init(_ folder: String) throws(PostgresServerError) {
        do throws(SystemError) {
            shell = try LifeLine.guardFolder(folder)
        } catch {
            rmdir(folder)
            throw PostgresServerError(
                .notStarted, "the shell that removes \(folder) cannot be started: \(error)")
        }
    }

    /// Removes the folder now.
    func remove() async {
        if let line = shell.input { close(line) }
        _ = await shell.wait()
    }

    /// Leaves the folder to the shell that watches the server.
    func dismiss() async {
        // Before its input ends, which would have it remove the folder.
        shell.signal(SIGKILL)
        _ = await shell.wait()
        if let line = shell.input { close(line) }
    }
}
