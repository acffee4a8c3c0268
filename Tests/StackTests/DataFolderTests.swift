import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncStack

@Suite(.patient())
struct DataFolderTests {
    /// As after `kill -9`: what the killed program was just starting has its lock for a moment.
    @Test func waitsForARunThatLeaves() async throws {
        let folder = try TemporaryDirectory(prefix: "data-folder-")
        defer { folder.remove() }
        let holder = try FolderLock(folder.path, mode: 0o600)
        #expect(try await holder.take(within: .zero))
        let warnings = Lock<[String]>([])
        let data = try await DataFolder(folder.path) { warning in
            warnings.withLock { $0.append(warning) }
            holder.release()
        }
        #expect(data.path == folder.path)
        #expect(warnings.withLock { $0 } == ["waiting for another run to leave \(folder.path)"])
    }
}
