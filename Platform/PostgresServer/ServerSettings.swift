/// The settings of the private server, as arguments of `postgres`.
struct ServerSettings: Sendable {
    let dataDirectory: String
    let socketDirectory: String
    let maxReplicationSlots: Int
    /// Off, a crash of the machine may lose everything: right for temporary data alone.
    let isDurable: Bool

    func arguments(port: Int) -> [String] {
        var settings = [
            "listen_addresses=127.0.0.1", "unix_socket_directories=\(socketDirectory)", "wal_level=logical",
            "max_replication_slots=\(maxReplicationSlots)", "max_wal_senders=\(maxReplicationSlots)",
            "max_connections=200", "shared_buffers=64MB", "timezone=UTC", "log_timezone=UTC",
            "logging_collector=off", "log_destination=stderr",
            // In files of the cluster, which go with it: those of the system outlive a server that was killed.
            "dynamic_shared_memory_type=mmap",
        ]
        // Commits stay synchronous: without that pg_current_wal_lsn() may be before a commit that has returned.
        if !isDurable { settings += ["fsync=off", "full_page_writes=off"] }
        return ["-D", dataDirectory, "-p", String(port)] + settings.flatMap { ["-c", $0] }
    }

    /// The arguments of `initdb` that makes the cluster in a folder.
    ///
    /// By its socket, in a folder for nobody else, Postgres asks for no password.
    ///
    /// - Parameters:
    ///   - directory: The folder.
    ///   - passwordFile: Has the password of the superuser.
    /// - Returns: The arguments.
    func initdbArguments(_ directory: String, passwordFile: String) -> [String] {
        [
            "-D", directory, "--encoding=UTF8", "--locale=C", "--auth-local=trust",
            "--auth-host=scram-sha-256", "--pwfile=\(passwordFile)", "-U", "postgres",
        ] + (isDurable ? [] : ["--no-sync"])
    }
}
