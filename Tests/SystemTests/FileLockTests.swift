import PowerSyncTestSupport
import Testing

@testable import PowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

@Suite(.patient())
struct FileLockTests {
    private let folder: TemporaryDirectory
    private var path: String { folder.path + "/lock" }
    private var model: String { folder.path + "/model" }

    init() throws { folder = try TemporaryDirectory(prefix: "system-test-") }

    private func lock() -> FileLock { FileLock(path: path, like: model) }

    private func permissions(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    @Test func oneHasItUntilItIsReleased() throws {
        let (one, other) = (lock(), lock())
        #expect(try one.take())
        #expect(try one.take(), "it has it already")
        #expect(try !other.take())
        one.release()
        #expect(try other.take())
        #expect(try !one.take())
    }

    @Test func goingAwayReleasesIt() throws {
        let other = lock()
        do {
            let one = lock()
            #expect(try one.take())
            #expect(try !other.take())
        }
        #expect(try other.take())
    }

    @Test func aFileThatWasReplacedCountsForNothing() throws {
        let (one, other, third) = (lock(), lock(), lock())
        #expect(try one.take())
        #expect(try !other.take())
        #expect(unlink(path) == 0)
        // Without a look at the path both would have a lock now, or neither could ever get one.
        #expect(try other.take())
        #expect(try !one.take())
        #expect(try !third.take())
    }

    @Test func whoeverLostItsFileTakesTheNextOne() throws {
        let one = lock()
        #expect(try one.take())
        #expect(rename(path, path + ".old") == 0)
        #expect(try one.take())
        #expect(access(path, F_OK) == 0)
        #expect(try !lock().take())
    }

    @Test func aNewFileHasThePermissionsOfItsModel() throws {
        close(creat(model, 0o600))
        #expect(chmod(model, 0o664) == 0)
        _ = try lock().take()
        #expect(permissions(path) == 0o664)
        #expect(unlink(path) == 0 && unlink(model) == 0)
        _ = try lock().take()
        #expect(permissions(path) == 0o600)
    }

    @Test func aSymbolicLinkIsRefused() throws {
        #expect(symlink(folder.path + "/elsewhere", path) == 0)
        let error = #expect(throws: SystemError.self) { try lock().take() }
        #expect(error?.errno == ELOOP)
        #expect(access(folder.path + "/elsewhere", F_OK) != 0, "nothing was made behind it")
    }

    @Test func aFolderThatIsMissingIsAnError() throws {
        let lock = FileLock(path: folder.path + "/missing/lock", like: model)
        let error = #expect(throws: SystemError.self) { try lock.take() }
        #expect(error?.errno == ENOENT)
    }

    @Test func noChildInheritsIt() throws {
        let lock = lock()
        #expect(try lock.take())
        let descriptor = try #require(lock.descriptor)
        #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
    }
}
