import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A TLS server with a certificate of its own, played by the program `openssl`, which ca-certificates brings.
final class TLSServer: Sendable {
    /// Whether there is such a program.
    static let isAvailable =
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .contains { FileManager.default.isExecutableFile(atPath: "\($0)/openssl") }

    /// The file of its certificate, which nobody has signed but itself.
    let certificate: String
    let port: Int
    private let folder: TemporaryDirectory
    private let process: ChildProcess

    /// Starts a server that answers every GET with 200.
    ///
    /// - Parameter name: What its certificate is for, as `IP:127.0.0.1`.
    /// - Throws: when the program does not do what it is told, with its words.
    init(for name: String) async throws {
        let folder = try TemporaryDirectory(prefix: "tls-")
        self.folder = folder
        certificate = folder.path + "/certificate.pem"
        let made = try await ChildProcess.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-keyout", folder.path + "/key.pem", "-out", certificate, "-days", "2", "-subj", "/CN=test",
                "-addext", "subjectAltName=\(name)",
            ], timeout: TestOptions.deadline)
        try #require(made.status == .exited(0), "\(made.error)")
        let process = try ChildProcess.guarded(
            "openssl",
            [
                "s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", folder.path + "/key.pem",
                "-www",
            ], output: .pipe)
        self.process = process
        let output = try #require(process.output)
        _ = fcntl(output, F_SETFL, O_NONBLOCK)
        // It says "ACCEPT 127.0.0.1:41043" once it listens.
        var text = ""
        do {
            let port = try await wait(
                for: "the server to listen",
                read: {
                    var byte: UInt8 = 0
                    while read(output, &byte, 1) == 1 { text.unicodeScalars.append(Unicode.Scalar(byte)) }
                    return text.firstMatch(of: /ACCEPT .*:(\d+)\n/).flatMap { Int($0.1) }
                }, until: { $0 != nil })
            self.port = try #require(port)
        } catch {
            process.signal(SIGKILL)
            throw error
        }
    }

    deinit {
        process.signal(SIGKILL)
        if let output = process.output { close(output) }
    }

    /// Its URL.
    var url: String { "https://127.0.0.1:\(port)/" }
}
