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

    private func file(_ bytes: [UInt8]) throws -> String {
        let path = folder.path + "/text"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        try #require(write(descriptor, bytes, bytes.count) == bytes.count)
        return path
    }

    /// It is longer than what one call reads.
    @Test func aTextIsReadToItsEndUpToALimit() throws {
        let text = String(repeating: "\u{E4}", count: 100_000)
        let path = try file(Array(text.utf8))
        #expect(try FileBytes.text(ofFile: path) == text)
        #expect(try FileBytes.text(ofFile: path, limit: 200_000) == text)
        let longer = #expect(throws: SystemError.self) {
            try FileBytes.text(ofFile: path, limit: 199_999)
        }
        #expect(longer?.message == "\(path) is longer than 199999 bytes" && longer?.errno == 0)
        let endless = #expect(throws: SystemError.self) {
            try FileBytes.text(ofFile: "/dev/zero", limit: 1_000_000)
        }
        #expect(endless?.message == "/dev/zero is longer than 1000000 bytes")
    }

    @Test func aMarkBeforeATextIsNoneOfIt() throws {
        #expect(try FileBytes.text(ofFile: file([0xEF, 0xBB, 0xBF, 0x61, 0x3A])) == "a:")
    }

    @Test func whatIsNoTextIsSaid() throws {
        let path = try file([0x61, 0xFF])
        let error = #expect(throws: SystemError.self) { try FileBytes.text(ofFile: path) }
        #expect(error?.message == "\(path) is not a text in UTF-8" && error?.errno == 0)
        let none = #expect(throws: SystemError.self) { try FileBytes.text(ofFile: path + ".none") }
        #expect(none?.isMissingFile == true && none?.message == "cannot read \(path).none")
        let other = #expect(throws: SystemError.self) { try FileBytes.text(ofFile: folder.path) }
        #expect(other?.errno == EISDIR)
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
