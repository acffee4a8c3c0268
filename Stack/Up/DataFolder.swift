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
    private let lock: Int32

    /// Makes the folder if need be and locks it until this value goes.
    ///
    /// - Parameter path: the folder.
    /// - Throws: `StackError` if it cannot be used, or another run uses it.
    init(_ path: String) throws(StackError) {
        let path = TextFile.absolutePath(path)
        try TextFile.makeFolder(path)
        lock = open("\(path)/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else {
            throw StackError(.file, "cannot write in \(path): \(String(cString: strerror(errno)))")
        }
        self.path = path
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            throw StackError(.file, "\(path) is in use by another run: stop it, or choose another folder")
        }
    }

    deinit { close(lock) }

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
