#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

// The password of a cluster's superuser. Every user of the machine reaches the port, so by TCP a password is asked for; into
// the folder of the socket nobody else gets.
extension ClusterDirectory {
    /// The file beside the cluster that has it, for its owner alone; `initdb` reads it, too.
    var passwordFile: String { "\(path)/password" }

    private var accessRules: String { "\(cluster)/pg_hba.conf" }

    /// The password that was kept; nil without one, as for a cluster that an earlier version has made.
    var password: String? {
        guard let bytes = bytes(ofFile: passwordFile) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        return text.count == Self.passwordLength ? text : nil
    }

    private static let passwordLength = 32

    /// Makes a password of letters and digits, about 190 bits of chance, that needs escaping nowhere.
    static func newPassword() -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        var chance = SystemRandomNumberGenerator()
        return String((0..<passwordLength).map { _ in letters.randomElement(using: &chance) ?? "0" })
    }

    /// Keeps the password.
    func keep(_ password: String, for user: ClusterUser) throws(PostgresServerError) {
        // What was there may be readable for others, or somebody else's.
        unlink(passwordFile)
        try put(password, into: passwordFile, O_CREAT | O_EXCL)
        try user.own(passwordFile)
    }

    /// Has a cluster that is not running ask for a password wherever it let everybody in by TCP.
    func endTrust() throws(PostgresServerError) {
        guard let bytes = bytes(ofFile: accessRules) else {
            throw PostgresServerError(.unusableFolder, "\(accessRules) cannot be read")
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        let closed = lines.map { (line: Substring) -> Substring in
            let words = line.split(whereSeparator: \.isWhitespace)
            let isOpen = words.first?.hasPrefix("host") == true && words.last == "trust"
            return isOpen ? line.replacing(/trust\s*$/, with: "scram-sha-256") : line
        }
        // Written over and not replaced: the file stays the user's.
        try put(closed.joined(separator: "\n"), into: accessRules, O_TRUNC)
    }

    private func put(_ text: String, into file: String, _ flags: Int32) throws(PostgresServerError) {
        let descriptor = open(file, O_WRONLY | O_CLOEXEC | flags, 0o600)
        guard descriptor >= 0 else { throw Self.unwritable(file) }
        defer { close(descriptor) }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw Self.unwritable(file) }
            rest = rest.dropFirst(count)
        }
    }

    private static func unwritable(_ file: String) -> PostgresServerError {
        PostgresServerError(
            .unusableFolder, "\(file) cannot be written: \(String(cString: strerror(errno)))")
    }
}
