import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Faults that a sanitizer has to report; made only where `POWERSYNC_PLANTED` names them (Scripts/sanitize.sh).
@Suite(.patient())
struct PlantedFaultTests {
    private static let planted = ProcessInfo.processInfo.environment["POWERSYNC_PLANTED"]

    private final class Counter: @unchecked Sendable {
        // Safe because a sanitizer alone sees it, which has to report that it is not.
        var value = 0
    }

    @Test(.enabled(if: planted == "race"))
    func twoThreadsWriteWithoutALock() async throws {
        let (counter, ended) = (Counter(), Lock(0))
        for _ in 0..<2 {
            try DetachedThread.start {
                for _ in 0..<1000 { counter.value += 1 }
                ended.withLock { $0 += 1 }
            }
        }
        try await wait(for: "both threads to end") { ended.withLock { $0 } == 2 }
    }

    @Test(.enabled(if: planted == "overflow"))
    func somebodyWritesBehindTheEnd() {
        let count = Self.planted?.count ?? 0
        let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: count)
        defer { bytes.deallocate() }
        bytes.initialize(repeating: 0, count: count)
        bytes[count] = 1
        #expect(bytes[0] == 0)
    }
}
