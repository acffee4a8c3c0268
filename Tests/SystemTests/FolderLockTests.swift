import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct FolderLockTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory(prefix: "folder-lock-") }

    /// The children of a program that was killed end it within the moment; a busy machine may need a few.
    @Test func waitsForSecondsUnlessTold() { #expect(FolderLock.patience >= .seconds(5)) }

    @Test func waitsForWhoLeaves() async throws {
        let holder = try FolderLock(folder.path, mode: 0o600)
        #expect(try await holder.take(within: .zero))
        var waits = 0
        let next = try FolderLock(folder.path, mode: 0o600)
        let isTaken = try await next.take {
            waits += 1
            holder.release()
        }
        #expect(isTaken && waits == 1)
        #expect(try await !holder.take(within: .zero))
        folder.remove()
    }

    @Test func refusesWhoWaitsInVain() async throws {
        let holder = try FolderLock(folder.path, mode: 0o600)
        #expect(try await holder.take(within: .zero))
        let next = try FolderLock(folder.path, mode: 0o600)
        #expect(try await !next.take(within: .milliseconds(40)))
        folder.remove()
    }

    @Test func isFreeOnceItsOwnerHasGone() async throws {
        do {
            let holder = try FolderLock(folder.path, mode: 0o600)
            #expect(try await holder.take(within: .zero))
        }
        #expect(try await FolderLock(folder.path, mode: 0o600).take(within: .zero))
        folder.remove()
    }
}
