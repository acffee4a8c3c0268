import PowerSyncSystem
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

@Suite struct FileBytesTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory(prefix: "file-bytes-") }

    @Test func bytesAreReadFromAPlaceOn() throws {
        let descriptor = open(folder.path + "/file", O_RDWR | O_CREAT | O_EXCL, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let bytes = (0..<10).map { UInt8($0) }
        try #require(write(descriptor, bytes, bytes.count) == bytes.count)
        func part(_ offset: Int64, _ count: Int) throws -> [UInt8] {
            try FileBytes.read(descriptor, called: "a file", at: offset, count: count)
        }
        #expect(try part(0, 4) == [0, 1, 2, 3])
        #expect(try part(7, 100) == [7, 8, 9])
        #expect(try part(10, 4) == [] && part(1000, 4) == [] && part(3, 0) == [])
        // Whoever reads or writes it otherwise is where he was.
        #expect(lseek(descriptor, 0, SEEK_CUR) == 10)
    }

    @Test func whatCannotBeReadIsNamed() throws {
        let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let error = #expect(throws: SystemError.self) {
            try FileBytes.read(descriptor, called: "a folder", at: 0, count: 1)
        }
        #expect(error?.errno == EISDIR && error?.message == "cannot read a folder")
    }
}
