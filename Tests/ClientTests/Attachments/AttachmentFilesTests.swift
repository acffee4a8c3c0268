import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Names of files that come out of rows, and what crashes leave of files (Client/Attachments/SPEC.md, Files and Names).
@Suite(.patient()) struct AttachmentFilesTests {
    private let folder: TemporaryDirectory
    private let files = AttachmentFiles()
    private var path: String { folder.file("a.jpg") }

    init() throws { folder = try TemporaryDirectory() }

    private func write(_ text: String, to path: String) throws {
        try FileManager.default.createDirectory(
            atPath: FilePlace(path).folder, withIntermediateDirectories: true, attributes: nil)
        try Data(text.utf8).write(to: URL(filePath: path))
    }

    private func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    private func link(_ path: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
    }

    // MARK: Names

    @Test(
        arguments: [
            ("a.jpg", []), ("ä ö.jpg", []), (String(repeating: "x", count: 255), []), ("..a", []),
            ("a..", []),
            (".a", []), (".powersync", []), ("\\", []), ("thumbs/a.jpg", ["thumbs"]),
            ("thumbs/a.jpg", ["thumbs//"]),
            ("a/b/c", ["a", "a/b"]), ("a/b/" + String(repeating: "x", count: 255), ["x", "a/b/"]),
            ("a", ["../b", "", "/"]),
        ] as [(String, [String])])
    func aNameInTheFolderIsTaken(name: String, subdirectories: [String]) throws {
        try AttachmentFiles.check(filename: name, subdirectories: subdirectories)
        #expect(throws: Never.self) {
            try AttachmentFiles.check(filename: name, subdirectories: subdirectories + ["y"])
        }
    }

    @Test(
        arguments: [
            ("", []), (".", []), ("..", []), ("../a", []), ("a/../b", []), ("/etc/passwd", []), ("a/b", []),
            ("a/", []), ("a/\u{301}b", []), ("a\u{0}b", []), (String(repeating: "x", count: 256), []),
            (String(repeating: "ä", count: 150), []), (".powersync-new", []), (".PowerSync-Part", []),
            (".powersync-part/a", []), ("thumbs/", ["thumbs"]), ("thumbs/..", ["thumbs"]),
            ("thumbs/../a", ["thumbs"]), ("thumbs/a/b", ["thumbs"]), ("thumbs2/a", ["thumbs"]),
            ("thumbs/.powersync-new", ["thumbs"]), ("/thumbs/a", ["thumbs"]), ("../b/a", ["../b"]),
            ("/b/a", ["/b"]), ("a//b", ["a"]), (".powersync-new/a", [".powersync-new"]), ("/a", [""]),
            ("b/../../a", ["b/.."]),
        ] as [(String, [String])])
    func aNameThatLeadsElsewhereIsRefused(name: String, subdirectories: [String]) {
        let error = #expect(throws: PowerSyncAttachmentError.self) {
            try AttachmentFiles.check(filename: name, subdirectories: subdirectories)
        }
        guard case .invalidPath? = error else {
            Issue.record("not invalidPath, but \(String(describing: error))")
            return
        }
        // Names come out of rows.
        let shown = String(describing: error).contains(name)
        #expect(name.utf8.count < 3 || !shown)
    }

    // MARK: New files

    @Test func aNewFileIsSeenOnceItIsWhole() throws {
        let file = try files.stage(path)
        try file.write(Array("half".utf8))
        #expect(text(path) == nil)
        #expect(text(folder.file(".powersync-new/a.jpg")) == "half")
        #expect(file.path == files.newPath(of: path))
        // Somebody saves it already.
        #expect(throws: PowerSyncAttachmentError.self) { try files.stage(path) }
        try file.write(Array(" and half".utf8))
        try file.commit(to: path, replacing: false)
        #expect(text(path) == "half and half")
        #expect(text(files.newPath(of: path)) == nil)
    }

    @Test func aNewFileThatACrashHasLeftGetsItsName() throws {
        #expect(try !files.settleNew(of: path))
        let file = try files.stage(path)
        try file.write(Array("whole".utf8))
        // As a process that ends leaves it.
        file.close()
        #expect(try files.settleNew(of: path))
        #expect(text(path) == "whole")
        #expect(text(files.newPath(of: path)) == nil)
        #expect(try files.settleNew(of: path), "and it stays")
    }

    @Test func whoSavesAFileFindsItDone() throws {
        let file = try files.stage(path)
        try file.write(Array("whole".utf8))
        #expect(try files.settleNew(of: path))
        #expect(text(path) == "whole")
        try file.commit(to: path, replacing: false)
        #expect(text(path) == "whole")
        #expect(text(files.newPath(of: path)) == nil)
    }

    @Test func whatHasTheNameIsWhatCounts() throws {
        try write("old", to: path)
        try write("new", to: files.newPath(of: path))
        #expect(try files.settleNew(of: path))
        #expect(text(path) == "old")
        #expect(text(files.newPath(of: path)) == nil)
    }

    @Test func whatACrashHasLeftIsNotEmptied() throws {
        let file = try files.stage(path)
        try file.write(Array("whole".utf8))
        #expect(throws: PowerSyncAttachmentError.self, "somebody saves it") { try files.left(of: path) }
        file.close()
        let error = #expect(throws: PowerSyncAttachmentError.self) { try files.stage(path) }
        #expect(error.map { AttachmentFiles.saysTaken($0) } == true)
        let left = try #require(try files.left(of: path))
        #expect(text(left.path) == "whole")
        left.discard()
        #expect(try files.left(of: path) == nil)
        #expect(try files.stage(path).size == 0)
    }

    /// The app may write to it under the name that a crash has left.
    @Test func aFileThatWasTakenInHasBytesOfItsOwn() throws {
        let source = folder.file("source")
        try write("taken", to: source)
        let file = try #require(try files.link(source, as: path))
        // Whoever saves it may end before it has taken its name away.
        let error = #expect(throws: PowerSyncAttachmentError.self) { try files.settleNew(of: path) }
        #expect(error.map { AttachmentFiles.saysHeld($0) } == true)
        #expect(text(path) == nil)
        file.close()
        #expect(try files.settleNew(of: path))
        let handle = try FileHandle(forWritingTo: URL(filePath: source))
        try handle.write(contentsOf: Data("OTHER".utf8))
        try handle.close()
        #expect(text(source) == "OTHER" && text(path) == "taken")
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.file(".powersync-new"))
        #expect(left == [])
    }

    /// Otherwise a thread that nobody waits for would bring the file back when its row is gone.
    @Test func aCopyThatIsNotWantedAnyMoreIsNotMade() throws {
        let source = folder.file("source")
        try write("taken", to: source)
        try #require(try files.link(source, as: path)).close()
        #expect(throws: CancellationError.self) { try files.settleNew(of: path) { false } }
        #expect(text(path) == nil && text(files.newPath(of: path)) == "taken")
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.file(".powersync-new"))
        #expect(left == ["a.jpg"])
        #expect(try files.settleNew(of: path))
        #expect(text(path) == "taken")
    }

    // MARK: Downloads

    @Test func aPartTakesThePlaceOfWhatHasTheName() throws {
        #expect(throws: PowerSyncAttachmentError.self) { try files.part(of: path) }
        let outside = folder.file("outside")
        try write("outside", to: outside)
        try link(path, to: outside)
        try write("whole", to: files.partPath(of: path))
        #expect(files.partPath(of: path) == folder.file(".powersync-part/a.jpg"))
        try files.part(of: path).commit(to: path, replacing: true)
        #expect(text(path) == "whole")
        #expect(text(outside) == "outside", "a symbolic link is not followed")
        #expect(text(files.partPath(of: path)) == nil)
    }

    @Test func whatIsNoPathIsRefused() {
        let path = path + "\u{0}"
        #expect(throws: PowerSyncAttachmentError.self) { try files.stage(path) }
        #expect(throws: PowerSyncAttachmentError.self) { try files.settleNew(of: path) }
        #expect(throws: PowerSyncAttachmentError.self) { try files.part(of: path) }
        #expect(throws: PowerSyncAttachmentError.self) { try files.newPart(of: path) }
        #expect(throws: PowerSyncAttachmentError.self) { try PartFile(path) }
    }

    @Test func pathsOfFilesWithoutAFolderAreRelative() {
        #expect(files.partPath(of: "a") == "./.powersync-part/a")
        #expect(files.newPath(of: "/a") == "/.powersync-new/a")
        #expect(FilePlace.path(of: "a", in: "b/") == "b/a")
    }

    // MARK: Clearing up

    @Test func whatNobodyHasOpenAndNoRowWantsIsRemoved() throws {
        let below = folder.file("thumbs")
        for name in ["row", "none"] {
            for place in [folder.path, below] {
                try write("new", to: files.newPath(of: "\(place)/\(name)"))
                try write("part", to: files.partPath(of: "\(place)/\(name)"))
                try write("app's", to: "\(place)/\(name)")
            }
        }
        let saving = try files.stage(folder.file("held"))
        let downloading = try StagedFile(path: files.partPath(of: folder.file("held")), resuming: true)
        let rows: Set = [folder.file("row"), "\(below)/row"]
        try files.sweep(
            folders: [folder.path, below, folder.file("missing")], keepingNew: { rows.contains($0) },
            keepingParts: { rows.contains($0) })
        for place in [folder.path, below] {
            #expect(text(files.newPath(of: "\(place)/row")) == "new")
            #expect(text(files.partPath(of: "\(place)/row")) == "part")
            #expect(text(files.newPath(of: "\(place)/none")) == nil)
            #expect(text(files.partPath(of: "\(place)/none")) == nil)
            #expect(text("\(place)/row") == "app's" && text("\(place)/none") == "app's")
        }
        // Whoever is at work without a row yet keeps the file.
        #expect(text(saving.path) == "" && text(downloading.path) == "")
        saving.close()
        downloading.close()
        try files.sweep(folders: [folder.path], keepingNew: { _ in false }, keepingParts: { _ in false })
        #expect(text(saving.path) == nil && text(downloading.path) == nil)
        #expect(text(files.newPath(of: "\(below)/row")) == "new", "another folder")
    }

    /// Whoever saves it may commit its row at any moment until then.
    @Test func aNewFileIsAskedAboutOnceNobodyHasIt() throws {
        let file = try files.stage(path)
        var asked: [String] = []
        func sweep() throws {
            try files.sweep(
                folders: [folder.path],
                keepingNew: { path in
                    asked.append(path)
                    // It is held: nobody can save it now.
                    #expect(throws: PowerSyncAttachmentError.self) { try files.left(of: path) }
                    return true
                }, keepingParts: { _ in false })
        }
        try sweep()
        #expect(asked == [])
        file.close()
        try sweep()
        #expect(asked == [path] && text(files.newPath(of: path)) == "")
    }

    @Test func newFilesAndPartsAreAskedAboutApart() throws {
        try write("new", to: files.newPath(of: path))
        try write("part", to: files.partPath(of: path))
        try files.sweep(folders: [folder.path], keepingNew: { _ in true }, keepingParts: { _ in false })
        #expect(text(files.newPath(of: path)) == "new" && text(files.partPath(of: path)) == nil)
    }

    @Test func whatCannotBeRemovedKeepsNothingElse() throws {
        try write("inner", to: files.newPath(of: folder.file("a")) + "/inner")
        try write("new", to: files.newPath(of: folder.file("b")))
        try write("part", to: files.partPath(of: folder.file("c")))
        #expect(throws: PowerSyncAttachmentError.self) {
            try files.sweep(folders: [folder.path], keepingNew: { _ in false }, keepingParts: { _ in false })
        }
        #expect(text(files.newPath(of: folder.file("b"))) == nil)
        #expect(text(files.partPath(of: folder.file("c"))) == nil)
    }

    // MARK: Symbolic links

    @Test func aLinkInPlaceOfAFolderOfOursIsNotFollowed() throws {
        let outside = try TemporaryDirectory()
        try write("outside", to: outside.file("a.jpg"))
        try link(folder.file(".powersync-new"), to: outside.path)
        try link(folder.file(".powersync-part"), to: outside.path)
        #expect(throws: PowerSyncAttachmentError.self) { try files.stage(path) }
        #expect(throws: PowerSyncAttachmentError.self) { try files.settleNew(of: path) }
        #expect(throws: PowerSyncAttachmentError.self) { try files.part(of: path) }
        #expect(throws: PowerSyncAttachmentError.self) { try files.newPart(of: path) }
        #expect(throws: PowerSyncAttachmentError.self) { try PartFile(files.partPath(of: path)) }
        #expect(throws: PowerSyncAttachmentError.self) {
            try files.sweep(folders: [folder.path], keepingNew: { _ in false }, keepingParts: { _ in false })
        }
        #expect(text(outside.file("a.jpg")) == "outside")
        #expect(text(path) == nil)
    }

    @Test func aLinkInAFolderOfOursIsNotFollowed() throws {
        let outside = folder.file("outside")
        try write("outside", to: outside)
        for place in [files.newPath(of: path), files.partPath(of: path)] {
            try FileManager.default.createDirectory(
                atPath: FilePlace(place).folder, withIntermediateDirectories: true, attributes: nil)
            try link(place, to: outside)
        }
        #expect(throws: PowerSyncAttachmentError.self) { try files.stage(path) }
        #expect(throws: SystemError.self) { try PartFile(files.partPath(of: path)) }
        try files.sweep(folders: [folder.path], keepingNew: { _ in false }, keepingParts: { _ in false })
        #expect(text(outside) == "outside", "the links have gone themselves")
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.file(".powersync-part"))
        #expect(left == [])
    }
}
