import PowerSyncStack
import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Runs pgbench with a script of one pipeline, prepared.
struct PgbenchRun: Sendable {
    /// How long a run may take.
    private static let patience = Duration.seconds(600)

    /// Its path.
    let program: String
    /// Has a folder of each run, with its script and its times; somebody else removes it.
    let folder: String

    /// Runs a script.
    ///
    /// - Parameters:
    ///   - script: the script.
    ///   - clients: how many clients repeat it at once, on one thread.
    ///   - transactions: how often each of them does.
    ///   - first: the number before that of each client's first operation; no other run has it.
    ///   - uri: the database.
    /// - Returns: what came of it.
    /// - Throws: `BenchmarkError` if a transaction has failed, `SystemError`, `StackError`.
    func run(
        _ script: PipelineScript, clients: Int, transactions: Int, first: Int, in uri: String
    ) async throws -> BackendPartRun.Outcome {
        let place = "\(folder)/pgbench_\(first)"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        try PrivateFile.write(script.text, to: place + "/script.sql")
        let constants = script.constants.sorted { $0.key < $1.key }
            .flatMap { ["-D", "\($0.key)=\($0.value)"] }
        let result = try await ChildProcess.run(
            program,
            [
                "--no-vacuum", "--protocol=prepared", "--client=\(clients)", "--jobs=1",
                "--transactions=\(transactions)", "--file=\(place)/script.sql", "--log",
                "--log-prefix=\(place)/times", "-D", "n=\(first)",
            ] + constants + [uri], timeout: Self.patience)
        guard result.status == .exited(0), let rate = Self.rate(result.output) else {
            throw BenchmarkError("pgbench failed: \(Self.reason(result.error))")
        }
        let times = try FileManager.default.contentsOfDirectory(atPath: place).filter {
            $0.hasPrefix("times")
        }.flatMap { try Self.times(String(contentsOfFile: "\(place)/\($0)", encoding: .utf8)) }
        guard times.count == clients * transactions else {
            throw BenchmarkError("pgbench has done \(times.count) of \(clients * transactions) transactions")
        }
        return BackendPartRun.Outcome(rate: rate, times: times)
    }

    /// The line of what it says that tells why.
    private static func reason(_ text: String) -> Substring {
        let lines = text.split(separator: "\n")
        return lines.first { $0.contains("error:") || $0.contains("ERROR:") } ?? lines.last ?? ""
    }

    /// The transactions a second that it tells, `tps = 4043.1 (without initial connection time)`.
    static func rate(_ output: String) -> Double? {
        let line = output.split(separator: "\n").first { $0.hasPrefix("tps = ") && $0.contains("without") }
        return line?.split(separator: " ").dropFirst(2).first.flatMap { Double($0) }
    }

    /// The times of a log of transactions in seconds: the third word of each line, in microseconds.
    static func times(_ log: String) -> [Double] {
        log.split(separator: "\n").compactMap { line in
            line.split(separator: " ").dropFirst(2).first.flatMap { Double($0) }.map { $0 / 1_000_000 }
        }
    }
}
