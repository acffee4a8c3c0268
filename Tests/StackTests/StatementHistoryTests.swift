import Foundation
import PowerSyncStack
import PowerSyncSystem
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

struct StatementHistoryTests {
    private let folder: TemporaryDirectory
    private let history: StatementHistory

    init() throws {
        folder = try TemporaryDirectory(prefix: "history-")
        history = try #require(StatementHistory.ofUser(["HOME": folder.path]))
    }

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    @Test func itLiesInTheStateOfTheUser() {
        #expect(history.path == folder.path + "/.local/state/powersync-stack/history")
        #expect(
            StatementHistory.ofUser(["HOME": "/h", "XDG_STATE_HOME": "/s"])?.path
                == "/s/powersync-stack/history")
        #expect(
            StatementHistory.ofUser(["HOME": "/h", "XDG_STATE_HOME": "s"])?.path
                == "/h/.local/state/powersync-stack/history")
        #expect(StatementHistory.ofUser([:]) == nil)
    }

    @Test func whatIsAddedIsThereInTheNextRun() throws {
        #expect(try history.load().isEmpty)
        let entries = ["SELECT 1;", "SELECT 'a\n  b\r\n';", #"SELECT '\n \\';"#, "é漢😀", "SELECT 1;"]
        for entry in entries { try history.append(entry) }
        #expect(try history.load() == entries)
        #expect(try StatementHistory(path: history.path).load() == entries)
    }

    @Test func theFileIsForItsOwnerAlone() throws {
        try history.append("SELECT 1;")
        #expect(mode(history.path) == 0o600)
        #expect(mode(folder.path + "/.local/state/powersync-stack") == 0o700)
        #expect(chmod(history.path, 0o644) == 0)
        try history.append("SELECT 2;")
        #expect(mode(history.path) == 0o600)
        #expect(try history.load() == ["SELECT 1;", "SELECT 2;"])
    }

    /// As a link to /dev/null, whose permissions are those of everybody: of two that this test may change.
    @Test(arguments: [true, false])
    func whatIsNoFileKeepsNothingAndStaysAsItIs(isRead: Bool) throws {
        try history.append("SELECT 1;")
        #expect(unlink(history.path) == 0)
        let other = folder.path + "/pipe"
        #expect(mkfifo(other, 0o644) == 0 && chmod(other, 0o644) == 0)
        #expect(symlink(other, history.path) == 0)
        let reader = isRead ? open(other, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1
        defer { if isRead { close(reader) } }
        try history.append("SELECT 2;")
        #expect(try history.load().isEmpty)
        #expect(mode(other) == 0o644)
        var byte: UInt8 = 0
        // Nobody else has it open, so that is its end.
        if isRead { #expect(read(reader, &byte, 1) == 0) }
    }

    @Test func onlyTheNewestEntriesAreKept() throws {
        for number in 1...StatementHistory.limit + 5 { try history.append("SELECT \(number);") }
        let entries = try history.load()
        #expect(entries.count == StatementHistory.limit)
        #expect(entries.first == "SELECT 6;" && entries.last == "SELECT \(StatementHistory.limit + 5);")
        let text = try String(contentsOf: URL(filePath: history.path), encoding: .utf8)
        #expect(text.split(separator: "\n").count == StatementHistory.limit)
        #expect(mode(history.path) == 0o600)
        #expect(try history.load() == entries)
    }

    @Test func aLinkStaysOneWhenTheFileIsShortened() throws {
        let other = folder.path + "/elsewhere"
        for number in 1...StatementHistory.limit + 5 { try history.append("SELECT \(number);") }
        #expect(rename(history.path, other) == 0 && symlink(other, history.path) == 0)
        #expect(try history.load().count == StatementHistory.limit)
        var status = stat()
        #expect(lstat(history.path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
        #expect(try StatementHistory(path: other).load().first == "SELECT 6;")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.sorted() == [".local", "elsewhere"])
    }

    /// Runs that begin shorten the file while others add to it.
    @Test func nothingIsLostWhereSeveralRunsUseTheFile() async throws {
        for number in 1...StatementHistory.limit { try history.append("SELECT \(number);") }
        let history = history
        try await withThrowingTaskGroup(of: Void.self) { group in
            for run in 1...4 {
                group.addTask {
                    for number in 1...20 {
                        try history.append("run \(run), \(number)")
                        _ = try history.load()
                    }
                }
            }
            try await group.waitForAll()
        }
        let entries = try history.load()
        #expect(entries.count == StatementHistory.limit)
        for run in 1...4 {
            #expect(
                entries.filter { $0.hasPrefix("run \(run), ") } == (1...20).map { "run \(run), \($0)" })
        }
    }

    @Test func ofAFileThatHasGrownLargeTheEndIsRead() throws {
        try history.append("first")
        let line = String(repeating: "x", count: 1 << 20) + "\n"
        let descriptor = open(history.path, O_WRONLY | O_APPEND)
        for _ in 0..<5 {
            let bytes = Array(line.utf8)
            #expect(bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) } == bytes.count)
        }
        close(descriptor)
        try history.append("last")
        let entries = try history.load()
        #expect(entries.first != "first" && entries.last == "last" && entries.count <= 5)
        #expect(try history.load() == entries)
    }

    @Test func whatBeginsWithASpaceIsNotKept() {
        #expect(StatementHistory.keeps("SELECT 1;"))
        #expect(!StatementHistory.keeps(" SELECT 'secret';"))
        #expect(!StatementHistory.keeps(""))
        #expect(!StatementHistory.keeps(String(repeating: "x", count: 100_000)))
    }

    @Test(arguments: [
        "PRAGMA key = 'secret';", "SELECT 1;\npragma main.\"rekey\"('secret');",
        "ATTACH 'a.db' AS a KEY 'secret';", "PRAGMA /* */ hexkey = 'aa';",
    ])
    func aKeyIsNotKept(entry: String) {
        #expect(!StatementHistory.keeps(entry))
        #expect(StatementHistory.keeps("PRAGMA foreign_keys; SELECT key FROM items;"))
    }

    @Test func aPlaceThatCannotBeWrittenIsAnError() throws {
        try "a file".write(toFile: folder.path + "/.local", atomically: true, encoding: .utf8)
        #expect(throws: StackError.self) { try history.append("SELECT 1;") }
        #expect(throws: StackError.self) { try history.load() }
    }
}
