import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The storage on disk, method by method (client-api 4.9).
@Suite(.patient()) struct FileManagerStorageAdapterTests {
    private let folder: TemporaryDirectory
    private let adapter = FileManagerStorageAdapter()
    private var path: String { folder.file("b/c/a.jpg") }

    init() throws { folder = try TemporaryDirectory() }

    private func bytes(_ path: String) -> [UInt8]? {
        FileManager.default.contents(atPath: path).map { [UInt8]($0) }
    }

    private func names(_ path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }

    /// What the system tells a file by, and its permissions.
    private func facts(_ path: String) throws -> (number: UInt64, mode: mode_t) {
        var status = stat()
        try #require(lstat(path, &status) == 0)
        return (UInt64(status.st_ino), status.st_mode & 0o777)
    }

    private func link(_ name: String, to target: String) throws -> String {
        try FileManager.default.createSymbolicLink(
            atPath: folder.file(name), withDestinationPath: target)
        return folder.file(name)
    }

    /// The case of the error that a call throws, and its text where it has one.
    private func failure(_ body: () async throws -> Void) async -> String? {
        do {
            try await body()
            return nil
        } catch let error as PowerSyncAttachmentError {
            switch error {
            case .fileNotFound(let path): return "fileNotFound \(path)"
            case .invalidPath: return "invalidPath"
            case .ioError: return "ioError"
            default: return "another case"
            }
        } catch {
            return String(describing: error)
        }
    }

    // MARK: Saving and reading

    @Test func aSavedFileIsThereWithItsFoldersAndTakesThePlaceOfAnother() async throws {
        #expect(try await adapter.saveFile(filePath: path, data: Data([1, 2, 3])) == 3)
        #expect(bytes(path) == [1, 2, 3])
        #expect(try await adapter.readFile(filePath: path, mediaType: "image/jpeg") == Data([1, 2, 3]))
        let slice = Data([9, 4, 5, 9]).dropFirst().dropLast()
        #expect(try await adapter.saveFile(filePath: path, data: slice) == 2)
        #expect(try await adapter.readFile(filePath: path) == Data([4, 5]))
        #expect(try await adapter.saveFile(filePath: path, data: Data()) == 0)
        #expect(bytes(path) == [])
        #expect(try names(folder.file("b/c")) == [".powersync-new", "a.jpg"])
        #expect(try names(folder.file("b/c/.powersync-new")) == [])
        #expect(try facts(path).mode == 0o600)
    }

    /// As what is moved in from another file system is.
    @Test func aFileInAFolderOfOursLeavesNoFolderInIt() async throws {
        let path = AttachmentFiles().newPath(of: folder.file("a"))
        _ = try await adapter.saveFile(filePath: path, data: Data([1]))
        #expect(bytes(path) == [1])
        #expect(try names(folder.path) == [".powersync-new"])
        #expect(try names(folder.file(".powersync-new")) == ["a"])
    }

    @Test func aLargeFileIsSavedAndReadWithoutAThreadOfThePool() async throws {
        let data = Data((0..<48).flatMap { [UInt8](repeating: $0, count: 64 << 10) } + [7])
        #expect(Int64(data.count) > FileWork.smallSize)
        #expect(try await adapter.saveFile(filePath: path, data: data) == Int64(data.count))
        #expect(try await adapter.readFile(filePath: path) == data)
        try await adapter.copyFile(sourcePath: path, targetPath: folder.file("copy"))
        #expect(try await adapter.readFile(filePath: folder.file("copy")) == data)
    }

    @Test func whatCannotBeReadSaysWhy() async throws {
        #expect(await failure { _ = try await adapter.readFile(filePath: path) } == "fileNotFound \(path)")
        try await adapter.makeDir(path: path)
        #expect(await failure { _ = try await adapter.readFile(filePath: path) } == "invalidPath")
        let file = folder.file("file")
        _ = try await adapter.saveFile(filePath: file, data: Data([1]))
        #expect(
            await failure { _ = try await adapter.readFile(filePath: file + "/a") }
                == "fileNotFound \(file)/a", "below a file there is nothing")
        let long = folder.file(String(repeating: "x", count: 300))
        #expect(await failure { _ = try await adapter.readFile(filePath: long) } == "ioError")
    }

    @Test func whatCannotBeWrittenIsAnErrorAndLeavesNothing() async throws {
        let file = folder.file("file")
        _ = try await adapter.saveFile(filePath: file, data: Data([1]))
        let below = file + "/a"
        #expect(await failure { _ = try await adapter.saveFile(filePath: below, data: Data()) } == "ioError")
        #expect(await failure { try await adapter.makeDir(path: below) } == "ioError")
        // A folder has the name.
        try await adapter.makeDir(path: path)
        #expect(await failure { _ = try await adapter.saveFile(filePath: path, data: Data()) } == "ioError")
        #expect(try names(folder.file("b/c/.powersync-new")) == [])
        let long = folder.file(String(repeating: "x", count: 300))
        #expect(await failure { _ = try await adapter.saveFile(filePath: long, data: Data()) } == "ioError")
        #expect(bytes(file) == [1])
    }

    @Test(arguments: ["", "a\u{0}b"]) func whatIsNoPathIsRefused(path: String) async {
        let calls: [() async throws -> Void] = [
            { _ = try await adapter.saveFile(filePath: path, data: Data()) },
            { _ = try await adapter.readFile(filePath: path) },
            { try await adapter.deleteFile(filePath: path) },
            { _ = try await adapter.fileExists(filePath: path) },
            { try await adapter.makeDir(path: path) },
            { try await adapter.rmDir(path: path) },
            { try await adapter.copyFile(sourcePath: path, targetPath: folder.file("t")) },
            { try await adapter.copyFile(sourcePath: folder.file("t"), targetPath: path) },
            { try await adapter.moveFile(sourcePath: path, targetPath: folder.file("t")) },
            { try await adapter.moveFile(sourcePath: folder.file("t"), targetPath: path) },
        ]
        for (index, call) in calls.enumerated() {
            let kind = await failure(call)
            // Of a copy the source is looked at first.
            let isMissing = kind?.hasPrefix("fileNotFound") == true
            #expect(kind == "invalidPath" || (index == 7 && isMissing), "\(index)")
        }
    }

    @Test func aSaveWhoseTaskIsCancelledLeavesNothing() async throws {
        let (adapter, path) = (adapter, path)
        for count in [1, 4 << 20] {
            let saving = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await adapter.saveFile(filePath: path, data: Data(count: count))
            }
            await #expect(throws: CancellationError.self) { try await wait(forEndOf: saving) }
        }
        #expect(bytes(path) == nil)
    }

    // MARK: Deleting and looking

    @Test func aFileThatIsNotThereIsDeletedAndAFolderIsNot() async throws {
        try await adapter.deleteFile(filePath: path)
        _ = try await adapter.saveFile(filePath: path, data: Data([1]))
        try await adapter.deleteFile(filePath: path + "/below")
        try await adapter.deleteFile(filePath: path)
        #expect(bytes(path) == nil)
        #expect(await failure { try await adapter.deleteFile(filePath: folder.file("b")) } == "ioError")
        #expect(try await adapter.fileExists(filePath: folder.file("b")))
    }

    @Test func whatIsThereExists() async throws {
        #expect(try await !adapter.fileExists(filePath: path))
        _ = try await adapter.saveFile(filePath: path, data: Data())
        #expect(try await adapter.fileExists(filePath: path))
        #expect(try await !adapter.fileExists(filePath: path + "/below"))
    }

    // MARK: Copying and moving

    @Test func aCopyTakesThePlaceOfWhatHasTheName() async throws {
        let source = folder.file("source")
        #expect(
            await failure { try await adapter.copyFile(sourcePath: source, targetPath: path) }
                == "fileNotFound \(source)")
        _ = try await adapter.saveFile(filePath: source, data: Data([1, 2]))
        _ = try await adapter.saveFile(filePath: path, data: Data([3]))
        try await adapter.copyFile(sourcePath: source, targetPath: path)
        #expect(bytes(source) == [1, 2] && bytes(path) == [1, 2])
        try await adapter.copyFile(sourcePath: source, targetPath: folder.file("new/folder/copy"))
        #expect(bytes(folder.file("new/folder/copy")) == [1, 2])
        try await adapter.copyFile(sourcePath: source, targetPath: source)
        #expect(bytes(source) == [1, 2])
    }

    @Test func aFileIsMovedAsItIs() async throws {
        let source = folder.file("source")
        #expect(
            await failure { try await adapter.moveFile(sourcePath: source, targetPath: path) }
                == "fileNotFound \(source)")
        _ = try await adapter.saveFile(filePath: source, data: Data([1, 2]))
        // What may only be read is moved, too.
        try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: source)
        let before = try facts(source).number
        _ = try await adapter.saveFile(filePath: path, data: Data([3]))
        try await adapter.moveFile(sourcePath: source, targetPath: path)
        #expect(bytes(source) == nil && bytes(path) == [1, 2])
        let after = try facts(path).number
        // Whoever may not write a file cannot bring it to the disk, and copies it.
        #expect(after == before || geteuid() != 0)
        try await adapter.moveFile(sourcePath: path, targetPath: folder.file("x/y/z"))
        #expect(bytes(folder.file("x/y/z")) == [1, 2])
        #expect(
            await failure { try await adapter.moveFile(sourcePath: folder.path, targetPath: path) }
                == "invalidPath")
    }

    // MARK: Folders

    @Test func foldersAreMadeAndRemovedOnceAndAgain() async throws {
        let inner = folder.file("d/e")
        try await adapter.makeDir(path: inner)
        try await adapter.makeDir(path: inner)
        #expect(try await adapter.fileExists(filePath: inner))
        _ = try await adapter.saveFile(filePath: inner + "/f", data: Data([1]))
        try await adapter.rmDir(path: folder.file("d"))
        try await adapter.rmDir(path: folder.file("d"))
        #expect(try names(folder.path) == [])
    }

    // MARK: Symbolic links

    @Test func aLinkIsReadOnlyToANameBesideIt() async throws {
        let outside = try TemporaryDirectory()
        _ = try await adapter.saveFile(filePath: outside.file("secret"), data: Data([1]))
        _ = try await adapter.saveFile(filePath: folder.file("beside"), data: Data([2]))
        _ = try await adapter.saveFile(filePath: folder.file("sub/inner"), data: Data([3]))
        let beside = try link("l1", to: "beside")
        let chain = try link("l2", to: "l1")
        #expect(try await adapter.readFile(filePath: chain) == Data([2]))
        #expect(try await adapter.fileExists(filePath: beside))
        var leading = [
            try link("l3", to: outside.file("secret")), try link("l4", to: "../secret"),
            try link("l5", to: ".."), try link("l6", to: "sub/inner"), try link("l7", to: "l3"),
        ]
        _ = try link("l8", to: "l9")
        leading.append(try link("l9", to: "l8"))
        for path in leading {
            #expect(
                await failure { _ = try await adapter.readFile(filePath: path) } == "invalidPath", "\(path)")
            #expect(try await !adapter.fileExists(filePath: path), "\(path)")
            #expect(
                await failure { try await adapter.copyFile(sourcePath: path, targetPath: folder.file("t")) }
                    == "invalidPath")
            #expect(
                await failure { try await adapter.moveFile(sourcePath: path, targetPath: folder.file("t")) }
                    == "invalidPath")
        }
        #expect(
            await failure { try await adapter.moveFile(sourcePath: beside, targetPath: folder.file("t")) }
                == "invalidPath")
        let broken = try link("l0", to: "missing")
        #expect(
            await failure { _ = try await adapter.readFile(filePath: broken) } == "fileNotFound \(broken)")
        #expect(bytes(folder.file("t")) == nil)
    }

    @Test func aLinkIsNeverFollowedForWriting() async throws {
        let outside = try TemporaryDirectory()
        let secret = outside.file("secret")
        _ = try await adapter.saveFile(filePath: secret, data: Data([1]))
        _ = try await adapter.saveFile(filePath: folder.file("source"), data: Data([2]))
        let (saved, copied, moved) = (
            try link("a", to: secret), try link("b", to: secret), try link("c", to: secret)
        )
        let (deleted, removed) = (try link("d", to: secret), try link("e", to: outside.path))
        _ = try await adapter.saveFile(filePath: saved, data: Data([3]))
        try await adapter.copyFile(sourcePath: folder.file("source"), targetPath: copied)
        try await adapter.moveFile(sourcePath: folder.file("source"), targetPath: moved)
        try await adapter.deleteFile(filePath: deleted)
        try await adapter.rmDir(path: removed)
        #expect(bytes(saved) == [3] && bytes(copied) == [2] && bytes(moved) == [2])
        #expect(bytes(secret) == [1])
        #expect(try names(folder.path).filter { $0.count == 1 } == ["a", "b", "c"])
    }

    @Test func aPipeIsNotWaitedFor() async throws {
        let pipe = folder.file("pipe")
        try #require(mkfifo(pipe, 0o600) == 0)
        #expect(await failure { _ = try await adapter.readFile(filePath: pipe) } == "invalidPath")
    }
}
