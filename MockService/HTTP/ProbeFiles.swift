import PowerSyncCommandLine
import PowerSyncHTTP
import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How the probes can be asked (service 1.9, 8).
///
/// Without a section on them the real service writes files, too. This one does not: its working folder is rather a
/// developer's than a container's.
package struct ProbeSettings: Sendable, Equatable {
    /// Whether they are answered over HTTP.
    package var usesHTTP = true
    /// The folder of their files; nil for none.
    package var folder: String?

    /// Makes the settings of a configuration without any.
    package init() {}
}

/// Writes the probes into files: `startup` is there once the service has started, `ready` while it is ready, and `poll` is
/// written again and again while it is alive.
struct ProbeFiles: Sendable {
    /// Far below the ten seconds after which a process counts as stuck.
    private static let interval = Duration.seconds(1)

    let folder: String
    let poller: Poller
    let log: Log
    /// Answers a probe by its path.
    let answer: @Sendable (String) -> HTTPResponse?

    /// Removes what a former process left: it would tell of that one.
    func clear() {
        // What cannot be removed cannot be written either, and that is told.
        for name in ["startup", "ready", "poll"] { try? remove(name) }
    }

    /// Writes files until the task is cancelled, and removes them then.
    func run() async {
        var last: String?
        repeat {
            let failure = write()
            if let failure, failure != last {
                log.error("a probe's file cannot be written", ["error": failure])
            }
            last = failure
            // Only cancelling the task ends the wait early, and the loop with it.
        } while (try? await poller.sleep(until: .now + Self.interval)) != nil
        clear()
    }

    /// Writes what there is to tell, each file whatever becomes of the others, and returns what went wrong first.
    private func write() -> String? {
        var failure: String?
        func attempt(_ body: () throws -> Void) {
            do {
                try body()
            } catch {
                failure = failure ?? "\(error)"
            }
        }
        attempt {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
        // What is true no more goes first.
        for (probe, name) in [("readiness", "ready"), ("startup", "startup"), ("liveness", "poll")] {
            if let response = answer("/probes/\(probe)"), response.status == 200 {
                attempt { try write(name, response.body) }
            } else if name == "ready" {
                // That of the liveness grows old.
                attempt { try remove(name) }
            }
        }
        return failure
    }

    private func path(_ name: String) -> String { "\(folder)/\(name)" }

    private func write(_ name: String, _ body: HTTPResponseBody) throws {
        guard case .bytes(let bytes) = body else { return }
        // Whole, or as it was: others read it meanwhile.
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)), options: .atomic)
    }

    private func remove(_ name: String) throws {
        guard FileManager.default.fileExists(atPath: path(name)) else { return }
        try FileManager.default.removeItem(atPath: path(name))
    }
}
