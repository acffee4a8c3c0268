import Foundation
import PowerSyncSystem
import PowerSyncTestSupport

@testable import PowerSyncBackend

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// One OpenStack Swift for all tests that want an S3 which checks what it is sent (`Scripts/swift-s3.sh`); it ends with
/// the test process, however that ends.
enum SwiftPeer {
    private struct DidNotStart: Error, CustomStringConvertible {
        let description = "OpenStack Swift did not start; make peers installs it, standard error says more"
    }

    /// Whether tests of it run: where it is installed, and where it must be (`POWERSYNC_PEERS=required`), so that they
    /// fail.
    static let isWanted = isInstalled || ProcessInfo.processInfo.environment["POWERSYNC_PEERS"] == "required"

    private static let isInstalled = FileManager.default.contentsEqual(
        atPath: Repository.root.appending(path: "Scripts/peers-requirements.txt").path,
        andPath: Repository.root.appending(path: ".build/peers/peers-requirements.txt").path)

    private static let started = Task { try await start() }

    /// Where it is, with a bucket that all tests share.
    static func configuration() async throws -> S3Configuration { try await started.value }

    private static func start() async throws -> S3Configuration {
        let script = Repository.root.appending(path: "Scripts/swift-s3.sh").path
        // It lives as long as the other end of its input, which nobody closes.
        let process = try ChildProcess.spawn(
            "/bin/bash", [script], input: .pipe, output: .pipe, error: .inherit)
        guard let output = process.output else { throw DidNotStart() }
        let text = try await BlockingCalls().value { () -> String in
            defer { close(output) }
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(output, &buffer, buffer.count)
                if count > 0 {
                    bytes += buffer[..<count]
                } else if count == 0 || errno != EINTR {
                    return String(decoding: bytes, as: UTF8.self)
                }
            }
        }
        var environment: [String: String] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { environment[String(parts[0])] = String(parts[1]) }
        }
        guard let url = environment[ObjectStoreConfiguration.variable],
            case .s3(let configuration) = try ObjectStoreConfiguration(url: url, environment: environment)
        else { throw DidNotStart() }
        return configuration
    }
}
