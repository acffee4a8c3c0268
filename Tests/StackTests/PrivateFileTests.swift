import Foundation
import PowerSyncSystem
import Testing

@testable import PowerSyncStack

struct PrivateFileTests {
    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func aFileIsForItsOwnerAloneAlsoWhereAnOpenOneWas() throws {
        let folder = try TemporaryDirectory(prefix: "private-")
        defer { folder.remove() }
        let path = folder.path + "/f"
        try Data("old".utf8).write(to: URL(filePath: path))
        chmod(path, 0o644)
        try PrivateFile.write("new", to: path)
        #expect(try mode(path) == 0o600)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "new")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["f"])
    }

    @Test func aFolderIsForItsOwnerAloneAlsoWhereAnOpenOneWas() throws {
        let folder = try TemporaryDirectory(prefix: "private-")
        defer { folder.remove() }
        let path = folder.path + "/d"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        chmod(path, 0o755)
        try PrivateFile.makeFolder(path)
        #expect(try mode(path) == 0o700)
    }

    @Test func whatCannotBeWrittenIsTold() throws {
        let error = #expect(throws: StackError.self) { try PrivateFile.write("", to: "/nowhere/f") }
        #expect(error?.message.hasPrefix("cannot write /nowhere/f") == true)
    }
}
