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

/// Who runs Postgres: ourselves, or user `postgres` when we are root, which Postgres refuses to be.
struct ClusterUser: Sendable {
    /// The user to become; nil when we stay who we are.
    let other: (name: String, id: uid_t, group: gid_t)?
    /// `setpriv` of util-linux; it keeps the process id.
    private let setpriv: String?

    /// Throws `noUser` when we are root and cannot become somebody else.
    init() throws(PostgresServerError) {
        setpriv = ["/usr/bin/setpriv", "/bin/setpriv"].first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
        guard geteuid() == 0 else {
            other = nil
            return
        }
        guard setpriv != nil else {
            throw PostgresServerError(
                .noUser,
                "Postgres does not run as root: run this as another user, or install setpriv (util-linux)")
        }
        guard let user = Self.lookUp("postgres") else {
            throw PostgresServerError(
                .noUser,
                "Postgres does not run as root and there is no user postgres: run this as another user")
        }
        other = ("postgres", user.id, user.group)
    }

    /// The command that runs another one as this user.
    ///
    /// With `interruptedWithParent`, it gets SIGINT, Postgres' fast stop, when its parent dies (Linux).
    func command(_ program: String, _ arguments: [String], interruptedWithParent: Bool) -> [String] {
        guard let setpriv else { return [program] + arguments }
        var command = [setpriv]
        if let other { command += ["--reuid=\(other.id)", "--regid=\(other.group)", "--clear-groups"] }
        if interruptedWithParent { command.append("--pdeathsig=INT") }
        return command + [program] + arguments
    }

    /// Makes the user the owner of a folder that we made.
    func own(_ path: String) throws(PostgresServerError) {
        guard let other else { return }
        guard chown(path, other.id, other.group) == 0 else {
            throw PostgresServerError(
                .unusableFolder,
                "\(path) cannot be given to user \(other.name): \(String(cString: strerror(errno)))")
        }
    }

    /// The first folder on the way to `path` that the other user may not enter; nil if there is none.
    func firstClosedFolder(to path: String) -> String? {
        guard let other else { return nil }
        var folder = ""
        for part in path.split(separator: "/").dropLast() {
            folder += "/" + part
            var status = stat()
            guard stat(folder, &status) == 0 else { return folder }
            let bit =
                status.st_uid == other.id ? S_IXUSR : status.st_gid == other.group ? S_IXGRP : S_IXOTH
            guard status.st_mode & bit != 0 else { return folder }
        }
        return nil
    }

    private static func lookUp(_ name: String) -> (id: uid_t, group: gid_t)? {
        var entry = passwd()
        var buffer = [CChar](repeating: 0, count: 16384)
        var found: UnsafeMutablePointer<passwd>?
        guard getpwnam_r(name, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        return (entry.pw_uid, entry.pw_gid)
    }
}
