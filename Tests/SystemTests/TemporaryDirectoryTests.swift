import PowerSyncSystem
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

struct TemporaryDirectoryTests {
    @Test func theFolderAndItsContentsGoWithTheirOwner() throws {
        var folder: TemporaryDirectory? = try TemporaryDirectory(prefix: "system-test-")
        let path = try #require(folder?.path)
        #expect(mkdir(path + "/inner", 0o700) == 0)
        let file = creat(path + "/inner/file", 0o600)
        close(file)
        #expect(symlink("/etc", path + "/link") == 0)
        #expect(access(path, F_OK) == 0)
        folder = nil
        #expect(access(path, F_OK) != 0)
        #expect(access("/etc", F_OK) == 0, "links are not followed")
    }

    @Test func twoFoldersDiffer() throws {
        let one = try TemporaryDirectory(prefix: "system-test-")
        let two = try TemporaryDirectory(prefix: "system-test-")
        #expect(one.path != two.path)
        one.remove()
        one.remove()
        #expect(access(two.path, F_OK) == 0)
    }
}
