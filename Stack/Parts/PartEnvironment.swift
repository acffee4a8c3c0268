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

/// The environment in which backend and service are started: what this list names, and what the stack sets itself.
///
/// Both read their configuration from variables with conventional names. Handed on as it is, a shell that is set up
/// for somebody's production would make a local stack replicate from that database or sign with its key.
package enum PartEnvironment {
    /// A variable that the parts get from our own environment.
    struct Allowed: Sendable {
        /// The name; with a `*` at the end, what it begins with.
        let name: String
        /// Why a part needs it.
        let reason: String
    }

    /// What every part gets.
    static let allowed = [
        Allowed(name: "PATH", reason: "programs are looked up in it"),
        Allowed(name: "HOME", reason: "libpq and OpenSSL look for files of the user in it"),
        Allowed(name: "TMPDIR", reason: "temporary files go where the user wants them"),
        Allowed(name: "LANG", reason: "messages of the system"),
        Allowed(name: "LC_*", reason: "messages of the system"),
        Allowed(name: "TZ", reason: "times in the log"),
        Allowed(name: "LOG_FORMAT", reason: "a log as JSON lines, if the user reads it that way"),
        Allowed(
            name: "DEV_HOSTS", reason: "the names by which other machines call a backend that is open to them"
        ),
        Allowed(name: "LD_LIBRARY_PATH", reason: "the parts are this program, whose libraries may lie there"),
        Allowed(name: "DYLD_LIBRARY_PATH", reason: "the same on macOS"),
        Allowed(name: "SWIFT_BACKTRACE", reason: "how a crash is told"),
        Allowed(name: "SSL_CERT_FILE", reason: "certificates that the user trusts"),
        Allowed(name: "SSL_CERT_DIR", reason: "certificates that the user trusts"),
    ]

    /// What a part gets beside that if it works on a server of the user's: what completes `DATABASE_URI`.
    static let allowedForUsersServer = [
        Allowed(
            name: "PG*", reason: "password file, certificates, service file (libpq, Environment Variables)"),
        Allowed(name: "KRB5*", reason: "tickets and configuration, if the server asks for GSSAPI"),
        Allowed(
            name: "DATABASE_TLS_INSECURE", reason: "whether less than a proof of whose the server is will do"),
        Allowed(name: "OPENSSL_CONF", reason: "how TLS is set up on this machine"),
        Allowed(name: "OPENSSL_MODULES", reason: "the same"),
    ]

    /// Returns the environment of a part before the stack adds its own.
    ///
    /// - Parameters:
    ///   - ours: this program's environment.
    ///   - isUsersServer: whether the part works on a server of the user's.
    /// - Returns: those variables of it that the lists name.
    static func of(_ ours: [String: String], isUsersServer: Bool) -> [String: String] {
        let list = allowed + (isUsersServer ? allowedForUsersServer : [])
        return ours.filter { name, _ in
            list.contains { allowed in
                allowed.name.hasSuffix("*") ? name.hasPrefix(allowed.name.dropLast()) : name == allowed.name
            }
        }
    }

    /// Takes the variables of libpq out of this program's environment: a private cluster is reached by its URI alone.
    ///
    /// Call it before there are other threads.
    package static func forgetPostgresVariables() {
        for name in ProcessInfo.processInfo.environment.keys where name.hasPrefix("PG") { unsetenv(name) }
    }
}
