import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The folder of `--data`: one run at a time, for one database.
///
/// Others may enter it, because the user who runs Postgres must; what is secret lies in folders of its own
/// (`PrivateFile`).
final class DataFolder: Sendable {
    /// The absolute path.
    let path: String
    private let lock: FolderLock

    /// Makes the folder if need be and locks it until this value goes.
    ///
    /// - Parameters:
    ///   - path: the folder.
    ///   - warn: is told if another run takes a moment to leave.
    /// - Throws: `StackError` if it cannot be used, or another run uses it; `CancellationError`.
    init(_ path: String, warn: (String) -> Void) async throws {
        let path = TextFile.absolutePath(path)
        try TextFile.makeFolder(path)
        self.path = path
        do {
            lock = try FolderLock(path, mode: 0o600)
        } catch {
            throw StackError(.file, "\(error)")
        }
        guard try await lock.take(whenWaiting: { warn("waiting for another run to leave \(path)") }) else {
            throw StackError(.file, "\(path) is in use by another run: stop it, or choose another folder")
        }
    }

    /// Returns twelve hexadecimal digits that are this folder's for good, by which its slot on a server is known.
    ///
    /// - Throws: `StackError` if they cannot be read or written.
    func token() throws(StackError) -> String {
        let file = path + "/token"
        if access(file, F_OK) == 0 { return try TextFile.read(file).split(separator: "\n").joined() }
        let token = OwnedNames().token
        try PrivateFile.write(token + "\n", to: file)
        return token
    }

    /// Makes sure that what is kept here came from this database.
    ///
    /// - Parameter identity: `StackDatabase.identity`.
    /// - Throws: `StackError` if it came from another one, whose rows the service would serve.
    func bind(to identity: String) throws(StackError) {
        let file = path + "/database"
        guard access(file, F_OK) == 0 else { return try PrivateFile.write(identity + "\n", to: file) }
        guard try TextFile.read(file).split(separator: "\n").first.map(String.init) == identity else {
            throw StackError(
                .database,
                "\(path) keeps the state of another database: name that one, or choose another folder for --data"
            )
        }
    }
}
