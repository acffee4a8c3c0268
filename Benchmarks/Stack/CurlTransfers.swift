import PowerSyncCommandLine
import PowerSyncStack
import PowerSyncSystem
import PowerSyncWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// What programs of the system do with the same files.
enum CurlTransfers {
    /// One transfer.
    struct Item: Sendable {
        /// The signed address.
        let url: String
        /// The fields that must be sent.
        var headers: [SignedRequest.Header] = []
        /// The file that is uploaded; nil for a download.
        var upload: String?
        /// Where the answer goes.
        var output = "/dev/null"
    }

    /// How long a program may take.
    private static let patience = Duration.seconds(1800)

    /// Checks that all programs are there.
    ///
    /// - Throws: `CommandError` that names the first one that is not.
    static func checkPrograms() async throws {
        for name in ["curl", "sha256sum", "split", "head", "cp"] {
            let found = try await ChildProcess.run(
                "/bin/sh", ["-c", "command -v \"$0\"", name], timeout: patience)
            guard found.status == .exited(0) else { throw CommandError("\(name) is not there, install it") }
        }
    }

    /// Runs a line of the shell.
    ///
    /// - Parameters:
    ///   - line: the line.
    ///   - folder: where it runs.
    /// - Returns: what it wrote to standard output.
    /// - Throws: `BenchmarkError` if it fails.
    @discardableResult
    static func shell(_ line: String, in folder: String) async throws -> String {
        let result = try await ChildProcess.run(
            "/bin/sh", ["-ec", "cd \"$0\" && \(line)", folder], timeout: patience)
        guard result.status == .exited(0) else {
            throw BenchmarkError("\(line) failed: \(result.error.split(separator: "\n").last ?? "")")
        }
        return result.output
    }

    /// Returns the SHA-256 of files, in the order of their names, as the program sha256sum tells them.
    ///
    /// - Parameters:
    ///   - pattern: the names, as the shell takes them.
    ///   - folder: where they are.
    /// - Returns: the digests as hexadecimal digits.
    /// - Throws: `BenchmarkError`.
    static func digests(_ pattern: String, in folder: String) async throws -> [String] {
        let lines = try await shell("sha256sum \(pattern)", in: folder).split(separator: "\n")
        return lines.map { String($0.prefix(64)) }
    }

    /// Transfers files with curl.
    ///
    /// - Parameters:
    ///   - items: the transfers.
    ///   - connections: over how many connections at a time.
    ///   - folder: where the configuration of curl is written.
    /// - Returns: how long curl took.
    /// - Throws: `BenchmarkError` if one of them failed.
    static func run(_ items: [Item], over connections: Int, in folder: String) async throws -> Duration {
        let file = folder + "/curl.config"
        try PrivateFile.write(items.map(text).joined(separator: "next\n"), to: file)
        let parallel = connections > 1 ? ["--parallel", "--parallel-max", "\(connections)"] : []
        let start = ContinuousClock.now
        let result = try await ChildProcess.run(
            "curl", ["--silent", "--show-error"] + parallel + ["--config", file], timeout: patience)
        let time = ContinuousClock.now - start
        guard result.status == .exited(0) else {
            throw BenchmarkError("curl failed: \(result.error.split(separator: "\n").first ?? "")")
        }
        return time
    }

    private static func text(_ item: Item) -> String {
        // Without waiting to be asked for a body, and without a proxy that the environment may name.
        var lines = ["url = \"\(item.url)\"", "fail", "noproxy = \"*\"", "header = \"Expect:\""]
        for header in item.headers where header.name.lowercased() != "content-length" {
            lines.append("header = \"\(header.name): \(header.value)\"")
        }
        if let upload = item.upload { lines.append("upload-file = \"\(upload)\"") }
        lines.append("output = \"\(item.output)\"")
        return lines.map { $0 + "\n" }.joined()
    }

    /// Brings a file to the disk, and gives it its name.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - name: its name then.
    ///   - size: how many bytes it must have.
    /// - Throws: `BenchmarkError`.
    static func settle(_ path: String, as name: String, size: Int64) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw BenchmarkError("\(path) was not downloaded") }
        defer { close(descriptor) }
        guard lseek(descriptor, 0, SEEK_END) == off_t(size) else {
            throw BenchmarkError("\(path) has another size than was uploaded")
        }
        guard fsync(descriptor) == 0, rename(path, name) == 0 else {
            throw BenchmarkError("\(path): \(SystemError.text(of: errno))")
        }
    }
}
