import CPowerSyncSystem
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
struct StagedFileTests {
    private let folder: TemporaryDirectory
    private var path: String { folder.path + "/file" }
    private var temporary: String { folder.path + "/.new/file" }

    init() throws { folder = try TemporaryDirectory(prefix: "staged-file-") }

    private func stage(resuming: Bool = false) throws(SystemError) -> StagedFile {
        try StagedFile(path: temporary, resuming: resuming)
    }

    /// Stages a file with a text.
    private func stage(_ text: String) throws(SystemError) -> StagedFile {
        let file = try stage()
        try file.write(Array(text.utf8))
        return file
    }

    /// The text of a file; nil if there is none.
    private func text(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    private func put(_ text: String, at path: String) throws {
        let descriptor = creat(path, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        try #require(write(descriptor, bytes, bytes.count) == bytes.count)
    }

    private func permissions(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    // MARK: Half files

    @Test func aHalfFileIsNeverVisible() throws {
        let file = try stage()
        for part in ["one ", "two ", "three"] {
            try file.write(Array(part.utf8))
            #expect(text(path) == nil)
        }
        #expect(file.size == 13)
        try file.commit(to: path, replacing: false)
        #expect(text(path) == "one two three")
        #expect(access(temporary, F_OK) != 0)
        #expect(permissions(path) == 0o600)
    }

    @Test func whatIsReplacedStaysWholeUntilThen() throws {
        try put("before", at: path)
        let reader = open(path, O_RDONLY)
        defer { close(reader) }
        let file = try stage("behind")
        #expect(text(path) == "before")
        try file.commit(to: path, replacing: true)
        #expect(text(path) == "behind")
        #expect(access(temporary, F_OK) != 0)
        // Who had it open reads on what it opened.
        var bytes = [UInt8](repeating: 0, count: 16)
        #expect(read(reader, &bytes, bytes.count) == 6)
        #expect(String(decoding: bytes.prefix(6), as: UTF8.self) == "before")
    }

    @Test func withoutReplacingWhatWasThereStays() throws {
        try put("before", at: path)
        let file = try stage("behind")
        let error = #expect(throws: SystemError.self) { try file.commit(to: path, replacing: false) }
        #expect(error?.errno == EEXIST)
        #expect(text(path) == "before")
        #expect(text(temporary) == "behind", "it may have another name yet")
        #expect(throws: SystemError.self, "and is still its owner's") { try stage() }
        file.discard()
        #expect(access(temporary, F_OK) != 0)
        #expect(text(path) == "before")
    }

    @Test(arguments: [true, false])
    func aSymbolicLinkUnderItsNameIsNotFollowed(isReplaced: Bool) throws {
        let elsewhere = folder.path + "/elsewhere"
        try put("elsewhere", at: elsewhere)
        #expect(symlink(elsewhere, path) == 0)
        let file = try stage("new")
        if isReplaced {
            try file.commit(to: path, replacing: true)
            #expect(text(path) == "new")
        } else {
            let error = #expect(throws: SystemError.self) { try file.commit(to: path, replacing: false) }
            #expect(error?.errno == EEXIST)
        }
        #expect(text(elsewhere) == "elsewhere")
    }

    @Test func aMissingFolderOfItsNameIsAnError() throws {
        let file = try stage("new")
        let missing = folder.path + "/missing/file"
        for replacing in [true, false] {
            let error = #expect(throws: SystemError.self) {
                try file.commit(to: missing, replacing: replacing)
            }
            #expect(error?.errno == ENOENT)
        }
        try file.commit(to: path, replacing: false)
        #expect(text(path) == "new")
    }

    // MARK: What is in it

    @Test func whatIsInItCanBeReadAndShortened() throws {
        let file = try stage("0123456789")
        func part(_ offset: Int64, _ count: Int) throws -> String {
            String(decoding: try file.read(at: offset, count: count), as: UTF8.self)
        }
        #expect(try part(0, 4) == "0123")
        #expect(try part(7, 100) == "789")
        #expect(try part(10, 4) == "" && part(1000, 4) == "" && part(3, 0) == "")
        try file.truncate(to: 4)
        #expect(file.size == 4)
        #expect(try part(0, 100) == "0123")
        try file.write(Array("x".utf8))
        #expect(try part(0, 100) == "0123x", "bytes are written behind what is in it")
        file.close()
        let error = #expect(throws: SystemError.self) { try file.write([1]) }
        #expect(error?.errno == EBADF)
    }

    @Test func itIsGoneOnWithOrBegunAnew() throws {
        try stage("one").close()
        let second = try stage(resuming: true)
        #expect(second.size == 3)
        try second.write(Array(" two".utf8))
        second.close()
        #expect(text(temporary) == "one two")
        let third = try stage()
        #expect(third.size == 0)
        try third.write(Array("three".utf8))
        try third.commit(to: path, replacing: false)
        #expect(text(path) == "three")
    }

    @Test func foldersThatAreMissingAreMadeForThisUserAlone() throws {
        let deep = folder.path + "/a/b//c/file"
        let file = try StagedFile(path: deep, resuming: false, mode: 0o640)
        for made in ["/a", "/a/b", "/a/b/c"] { #expect(permissions(folder.path + made) == 0o700) }
        try file.commit(to: path, replacing: false)
        #expect(permissions(path) & 0o707 == 0o600, "the mask of the process may take the group's right")
        try put("", at: folder.path + "/no-folder")
        let error = #expect(throws: SystemError.self) {
            try StagedFile(path: folder.path + "/no-folder/file", resuming: false)
        }
        #expect(error?.errno == ENOTDIR)
    }

    @Test func whatIsNoFileIsRefused() throws {
        try stage("").discard()
        let elsewhere = folder.path + "/elsewhere"
        try put("elsewhere", at: elsewhere)
        #expect(symlink(elsewhere, temporary) == 0)
        let link = #expect(throws: SystemError.self) { try stage() }
        #expect(link?.errno == ELOOP)
        #expect(text(elsewhere) == "elsewhere")
        #expect(unlink(temporary) == 0 && mkfifo(temporary, 0o600) == 0)
        let pipe = #expect(throws: SystemError.self) { try stage() }
        #expect(pipe?.errno == EINVAL)
        #expect(unlink(temporary) == 0 && mkdir(temporary, 0o700) == 0)
        let inner = #expect(throws: SystemError.self) { try stage() }
        #expect(inner?.errno == EISDIR)
    }

    // MARK: Owners

    @Test func oneHasItUntilItIsClosed() throws {
        let one = try stage("one")
        let error = #expect(throws: SystemError.self) { try stage() }
        #expect(error?.errno == EWOULDBLOCK)
        #expect(text(temporary) == "one", "who is refused has emptied nothing")
        one.close()
        do {
            let next = try stage(resuming: true)
            #expect(next.size == 3)
            #expect(throws: SystemError.self) { try stage() }
        }
        #expect(try stage().size == 0, "going away closes it")
    }

    @Test func aNameThatHasGoneIsFreeForTheNext() throws {
        let one = try stage("one")
        #expect(unlink(temporary) == 0)
        let next = try stage("next")
        for replacing in [true, false] {
            let error = #expect(throws: SystemError.self) { try one.commit(to: path, replacing: replacing) }
            #expect(error?.errno == ENOENT)
            #expect(text(path) == nil, "the half file of the other one has no name")
        }
        one.discard()
        #expect(text(temporary) == "next")
        try next.commit(to: path, replacing: false)
    }

    @Test func noChildInheritsIt() throws {
        let file = try stage("x")
        defer { file.close() }
        let descriptor = try #require(file.descriptor)
        #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
    }

    @Test func whatNobodyHasOpenIsRemoved() throws {
        #expect(try StagedFile.removeUnheld(temporary), "it was not there")
        let file = try stage("held")
        #expect(try !StagedFile.removeUnheld(temporary))
        #expect(text(temporary) == "held")
        file.close()
        #expect(try StagedFile.removeUnheld(temporary))
        #expect(access(temporary, F_OK) != 0)
        let elsewhere = folder.path + "/elsewhere"
        try put("elsewhere", at: elsewhere)
        #expect(symlink(elsewhere, temporary) == 0)
        #expect(try StagedFile.removeUnheld(temporary))
        #expect(access(temporary, F_OK) != 0 && text(elsewhere) == "elsewhere")
        #expect(mkdir(temporary, 0o700) == 0)
        #expect(throws: SystemError.self) { try StagedFile.removeUnheld(temporary) }
    }

    /// As SMB and some file systems of users know none: it is as if nobody else had the file.
    @Test(arguments: [ENOLCK, ENOTSUP, ENOSYS, EINVAL])
    func whereThereAreNoLocksEverybodyHasTheFile(number: Int32) throws {
        let file = try stage("x")
        defer { file.close() }
        let descriptor = try #require(file.descriptor)
        let (taken, replaced) = (Int32(POWERSYNC_LOCK_TAKEN), Int32(POWERSYNC_LOCK_REPLACED))
        #expect(try StagedFile.tryLock(descriptor, temporary) { _, _ in -number } == taken)
        #expect(try StagedFile.tryLock(descriptor, path) { _, _ in -number } == replaced)
        let error = #expect(throws: SystemError.self) {
            try StagedFile.tryLock(descriptor, temporary) { _, _ in -EIO }
        }
        #expect(error?.errno == EIO)
        #expect(try StagedFile.tryLock(descriptor, temporary) == taken)
    }

    #if os(Linux)
        /// flock(1) has the lock until it is killed.
        @Test func aProcessThatIsKilledHasItNoLonger() async throws {
            try stage("left").close()
            let holder = try ChildProcess.guarded("flock", ["--no-fork", temporary, "sleep", "3600"])
            defer { holder.signal(SIGKILL) }
            try await wait(for: "the other process to have the file") {
                do throws(SystemError) {
                    try stage(resuming: true).close()
                    return false
                } catch {
                    return error.errno == EWOULDBLOCK
                }
            }
            #expect(try !StagedFile.removeUnheld(temporary))
            holder.signal(SIGKILL)
            try await wait(forEndOf: holder, called: "flock")
            let next = try stage(resuming: true)
            #expect(next.size == 4)
        }
    #endif

    @Test func aFileOfBeforeIsNotEmptied() throws {
        let file = try StagedFile(new: temporary)
        try file.write(Array("left".utf8))
        file.close()
        let error = #expect(throws: SystemError.self) { try StagedFile(new: temporary) }
        #expect(error?.errno == EEXIST)
        #expect(text(temporary) == "left")
        let left = try StagedFile(existing: temporary)
        #expect(left.size == 4 && left.isThere)
        #expect(throws: SystemError.self, "it has an owner") { try StagedFile(existing: temporary) }
        left.discard()
        #expect(!left.isThere)
        let missing = #expect(throws: SystemError.self) { try StagedFile(existing: temporary) }
        #expect(missing?.errno == ENOENT && access(temporary, F_OK) != 0, "none is made")
    }

    @Test func aFileThatIsTakenInKeepsItsNameUntilThen() throws {
        try put("taken", at: path)
        let file = try StagedFile(linking: path, as: temporary)
        #expect(file.size == 5 && text(path) == "taken" && text(temporary) == "taken")
        #expect(try !StagedFile.removeUnheld(temporary), "one lock is for both names")
        let error = #expect(throws: SystemError.self) { try StagedFile(linking: path, as: path + ".2") }
        #expect(error?.errno == EWOULDBLOCK)
        file.discard()
        #expect(text(path) == "taken" && access(temporary, F_OK) != 0)
        let again = try StagedFile(linking: path, as: temporary)
        #expect(unlink(path) == 0)
        try again.commit(to: folder.path + "/own", replacing: false)
        #expect(text(folder.path + "/own") == "taken" && access(temporary, F_OK) != 0)
    }

    @Test func aNameThatSomethingHasIsNotGivenToAFileThatIsTakenIn() throws {
        try put("taken", at: path)
        try stage("left").close()
        let error = #expect(throws: SystemError.self) { try StagedFile(linking: path, as: temporary) }
        #expect(error?.errno == EEXIST)
        #expect(text(temporary) == "left" && text(path) == "taken")
        let missing = #expect(throws: SystemError.self) {
            try StagedFile(linking: folder.path + "/missing", as: temporary + ".2")
        }
        #expect(missing?.errno == ENOENT && access(folder.path + "/missing", F_OK) != 0, "none is made")
    }

    /// Whoever had it open may have said why it stays, with the last that it did.
    @Test func whetherAFileStaysIsAskedWhileNobodyElseHasIt() throws {
        try stage("kept").close()
        var asked = 0
        let isGone = try StagedFile.removeUnheld(temporary) {
            asked += 1
            let error = #expect(throws: SystemError.self) { try stage(resuming: true) }
            #expect(error?.errno == EWOULDBLOCK)
            return true
        }
        #expect(!isGone && asked == 1 && text(temporary) == "kept")
        let held = try stage(resuming: true)
        let isRemoved = try StagedFile.removeUnheld(temporary) {
            asked += 1
            return false
        }
        #expect(!isRemoved && asked == 1, "nobody is asked about what somebody has")
        held.close()
        #expect(try StagedFile.removeUnheld(temporary, unless: { false }))
    }

    // MARK: Files that others have left

    @Test func aFileThatWasLeftGetsItsName() throws {
        try stage("left").close()
        try StagedFile.publish(temporary, as: path, replacing: false)
        #expect(text(path) == "left" && access(temporary, F_OK) != 0)
        let error = #expect(throws: SystemError.self) {
            try StagedFile.publish(temporary, as: path, replacing: true)
        }
        #expect(error?.errno == ENOENT)
        #expect(text(path) == "left")
    }

    /// As after an end between the two names.
    @Test(arguments: [true, false])
    func whoEndedBetweenTheNamesLeftAWholeFile(replacing: Bool) throws {
        try stage("whole").close()
        #expect(link(temporary, path) == 0)
        try StagedFile.publish(temporary, as: path, replacing: replacing)
        #expect(text(path) == "whole" && access(temporary, F_OK) != 0)
    }

    @Test(arguments: [true, false])
    func writingAgainDoesNotChangeTheFileThatHasItsName(isResumed: Bool) throws {
        try stage("whole").close()
        #expect(link(temporary, path) == 0)
        let next = try stage(resuming: isResumed)
        #expect(next.size == 0)
        try next.write(Array("next".utf8))
        #expect(text(path) == "whole")
        next.discard()
        #expect(text(path) == "whole")
    }

    @Test(arguments: [true, false])
    func twoMayGiveOneFileItsName(replacing: Bool) throws {
        let file = try stage("whole")
        try StagedFile.publish(temporary, as: path, replacing: replacing)
        try file.commit(to: path, replacing: replacing)
        #expect(text(path) == "whole")
    }

    // MARK: Steps

    /// Notes the calls, and lets one of them fail.
    private func calls(_ made: Lock<[String]>, failing: String? = nil) -> StagedFile.Calls {
        let (real, root) = (StagedFile.Calls(), folder.path)
        @Sendable func note(_ name: String, _ paths: String..., call: () -> Int32) -> Int32 {
            let short = paths.map { String($0.dropFirst(root.utf8.count)) }
            let text = ([name] + short).joined(separator: " ")
            made.withLock { $0.append(text) }
            return text == failing ? -EIO : call()
        }
        return StagedFile.Calls(
            sync: { descriptor in note("sync") { real.sync(descriptor) } },
            syncFolder: { path in note("names", path) { real.syncFolder(path) } },
            replace: { old, new in note("replace", old, new) { real.replace(old, new) } },
            add: { old, new in note("add", old, new) { real.add(old, new) } },
            remove: { path in note("remove", path) { real.remove(path) } })
    }

    @Test func theBytesAreOnTheDiskBeforeTheName() throws {
        let made = Lock<[String]>([])
        for (replacing, steps) in [
            (true, ["replace /.new/file /file"]), (false, ["add /.new/file /file"]),
        ] {
            let file = try StagedFile(path: temporary, resuming: false, calls: calls(made))
            try file.write([1])
            if replacing { try file.sync() }
            made.withLock { calls in
                #expect(calls == (replacing ? ["sync", "names /.new"] : []), "and before it is promised")
                calls = []
            }
            unlink(path)
            try file.commit(to: path, replacing: replacing)
            made.withLock { calls in
                #expect(calls == (replacing ? [] : ["sync"]) + steps + ["names ", "names /.new"])
                calls = []
            }
        }
        // In one folder the names are one.
        let beside = try StagedFile(path: path + ".new", resuming: false, calls: calls(made))
        try beside.commit(to: path, replacing: true)
        #expect(made.withLock { $0 } == ["sync", "replace /file.new /file", "names "])
    }

    @Test func namesOfSeveralFilesComeToTheDiskTogether() throws {
        let made = Lock<[String]>([])
        let paths = (1...2).map { (temporary: temporary + "\($0)", path: path + "\($0)") }
        for (temporary, path) in paths {
            let file = try StagedFile(path: temporary, resuming: false, calls: calls(made))
            try file.write([1])
            try file.commit(to: path, replacing: true, syncsNames: false)
            #expect(text(path) == "\u{1}" && file.descriptor == nil)
        }
        #expect(
            made.withLock { $0 } == [
                "sync", "replace /.new/file1 /file1", "sync", "replace /.new/file2 /file2",
            ])
        made.withLock { $0 = [] }
        try StagedFile.syncNames(of: paths.map { $0.path } + paths.map { $0.temporary }, calls(made))
        #expect(made.withLock { $0 } == ["names ", "names /.new"], "each folder once")
        let failures = StagedFile.syncEachName(
            of: [folder.path + "/nowhere/file", path, folder.path + "/nowhere/other"])
        #expect(failures.map { $0?.errno } == [ENOENT, nil, ENOENT], "each by itself")
    }

    @Test func whatIsOnTheDiskIsNotWaitedForAgain() throws {
        let made = Lock<[String]>([])
        let file = try StagedFile(path: temporary, resuming: false, calls: calls(made))
        try file.write([1])
        try file.syncBytes()
        try file.write([])
        try file.syncBytes()
        #expect(made.withLock { $0 } == ["sync"])
        try file.write([2])
        try file.sync()
        #expect(made.withLock { $0 } == ["sync", "sync", "names /.new"])
        try file.truncate(to: 1)
        try file.commit(to: path, replacing: false)
        #expect(made.withLock { $0 }.dropFirst(3).first == "sync")
        #expect(text(path) == "\u{1}")
    }

    /// As where a file system can add a name, and cannot exchange one.
    @Test func theOldNameGoesWhereItIsNoSingleStep() throws {
        let made = Lock<[String]>([])
        var calls = calls(made)
        let real = calls.add
        calls.add = { old, new in
            let status = StagedFile.link(old, new)
            return status == 0 || status == -EEXIST ? status : real(old, new)
        }
        let file = try StagedFile(path: temporary, resuming: false, calls: calls)
        try file.write(Array("whole".utf8))
        try file.commit(to: path, replacing: false)
        #expect(made.withLock { $0 } == ["sync", "remove /.new/file", "names ", "names /.new"])
        #expect(text(path) == "whole" && access(temporary, F_OK) != 0)
        let next = try StagedFile(path: temporary, resuming: false, calls: calls)
        let error = #expect(throws: SystemError.self) { try next.commit(to: path, replacing: false) }
        #expect(error?.errno == EEXIST && text(path) == "whole")
    }

    /// vfat has no links: the name is given in one step, which leaves nothing of the old one.
    @Test func aFileGetsItsNameWithoutALink() throws {
        let (other, third) = (folder.path + "/other", folder.path + "/third")
        try put("old", at: path)
        try put("new", at: other)
        let calls = StagedFile.Calls()
        #expect(calls.add(other, path) == -EEXIST)
        #expect(text(path) == "old" && text(other) == "new")
        #expect(calls.add(other, third) == 0)
        #expect(text(third) == "new" && access(other, F_OK) != 0)
    }

    @Test func whatIsNotOnTheDiskGetsNoName() throws {
        try put("before", at: path)
        let file = try StagedFile(
            path: temporary, resuming: false, calls: calls(Lock([]), failing: "sync"))
        try file.write(Array("new".utf8))
        let error = #expect(throws: SystemError.self) { try file.commit(to: path, replacing: true) }
        #expect(error?.errno == EIO)
        #expect(text(path) == "before")
        file.discard()
        #expect(access(temporary, F_OK) != 0)
    }

    @Test func aNameThatIsNotOnTheDiskIsNoSuccess() throws {
        let file = try StagedFile(
            path: temporary, resuming: false, calls: calls(Lock([]), failing: "names "))
        try file.write(Array("new".utf8))
        let error = #expect(throws: SystemError.self) { try file.commit(to: path, replacing: true) }
        #expect(error?.errno == EIO)
        file.discard()
        #expect(text(path) == "new", "it has its name, which may be lost with the power")
    }

    // MARK: Disks

    @Test(.enabled("needs the right to mount a tmpfs") { SmallDisk.isPossible })
    func aFullDiskLeavesWhatWasThereAndWhatFitted() throws {
        let disk = try SmallDisk(bytes: 256 << 10)
        let (path, temporary) = (disk.path + "/file", disk.path + "/new/file")
        let small = try StagedFile(path: temporary, resuming: false)
        try small.write(Array("before".utf8))
        try small.commit(to: path, replacing: false)
        let large = try StagedFile(path: temporary, resuming: false)
        try large.write([UInt8](repeating: 7, count: 64 << 10))
        let error = #expect(throws: SystemError.self) {
            try large.write([UInt8](repeating: 7, count: 1 << 20))
        }
        #expect(error?.errno == ENOSPC)
        #expect((Int64(64 << 10)..<Int64(256 << 10)).contains(large.size))
        #expect(try large.read(at: large.size - 1, count: 10) == [7], "it can be gone on with from there")
        #expect(text(path) == "before")
        large.discard()
        let next = try StagedFile(path: temporary, resuming: false)
        try next.write([UInt8](repeating: 8, count: 128 << 10))
        try next.commit(to: path, replacing: true)
        #expect(text(path)?.utf8.count == 128 << 10, "what was discarded takes no room")
    }

    @Test(.enabled("needs the right to mount a tmpfs") { SmallDisk.isPossible })
    func aDiskThatMayNotBeWrittenToIsAnError() throws {
        let disk = try SmallDisk(bytes: 64 << 10, isReadOnly: true)
        for path in ["/file", "/new/file"] {
            let error = #expect(throws: SystemError.self) {
                try StagedFile(path: disk.path + path, resuming: false)
            }
            #expect(error?.errno == EROFS)
        }
        #expect(try StagedFile.removeUnheld(disk.path + "/file"), "nothing is there")
    }

    @Test(.enabled(if: geteuid() != 0, "the superuser may write in every folder"))
    func aFolderThatMayNotBeWrittenToIsAnError() throws {
        let closed = folder.path + "/closed"
        #expect(mkdir(closed, 0o500) == 0)
        defer { chmod(closed, 0o700) }
        let opening = #expect(throws: SystemError.self) {
            try StagedFile(path: closed + "/file", resuming: false)
        }
        #expect(opening?.errno == EACCES)
        let file = try stage("new")
        let naming = #expect(throws: SystemError.self) {
            try file.commit(to: closed + "/file", replacing: false)
        }
        #expect(naming?.errno == EACCES)
        #expect(text(temporary) == "new")
    }
}
