import Foundation
import PowerSyncSystem
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A TLS server, played by the program `openssl`, which ca-certificates brings.
package final class TLSServer: Sendable {
    /// Whether there is such a program.
    package static let isAvailable =
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .contains { FileManager.default.isExecutableFile(atPath: "\($0)/openssl") }

    /// The file of the authority that has signed its certificate.
    package let authority: String
    /// Where it listens.
    package let port: Int
    private let folder: TemporaryDirectory
    private let process: ChildProcess

    /// Starts a server that answers every GET with 200 and a page.
    ///
    /// - Parameters:
    ///   - name: What its certificate is for, as `IP:127.0.0.1`.
    ///   - authority: Who signs its certificate; nil for nobody but itself.
    ///   - wantsCertificates: Whether clients need a certificate of the same authority. Others are refused within the
    ///     handshake, that of TLS 1.2: by TLS 1.3 it is over for them before they hear of it.
    /// - Throws: When the program does not do what it is told, with its words.
    package init(
        for name: String, of authority: TestAuthority? = nil, wantsCertificates: Bool = false
    ) async throws {
        let folder = try TemporaryDirectory(prefix: "tls-")
        self.folder = folder
        let own = try await TestAuthority.certify(name, in: folder, by: authority)
        self.authority = authority?.certificate ?? own.certificate
        var arguments = [
            "s_server", "-accept", "127.0.0.1:0", "-cert", own.certificate, "-key", own.key, "-www",
        ]
        if wantsCertificates {
            arguments += ["-CAfile", self.authority, "-Verify", "1", "-verify_return_error", "-tls1_2"]
        }
        let process = try ChildProcess.guarded("openssl", arguments, output: .pipe)
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
        stop()
        if let output = process.output { close(output) }
    }

    /// Ends the server and removes its files; also done when the last reference goes, but a process that ends by itself
    /// lets none go.
    package func stop() {
        process.signal(SIGKILL)
        folder.remove()
    }

    /// Its URL.
    package var url: String { "https://127.0.0.1:\(port)/" }
}
