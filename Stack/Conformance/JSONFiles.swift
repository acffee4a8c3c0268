#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The JSON files below a folder.
enum JSONFiles {
    /// Returns the paths of every `*.json` below a folder, sorted; for a file that file alone.
    ///
    /// Links to files are followed, links to folders are not: they could lead back.
    ///
    /// - Parameter path: a folder, or one file.
    /// - Returns: paths that begin with `path`.
    /// - Throws: `StackError` for a path that leads nowhere, for a folder that cannot be read, for no file at all.
    static func below(_ path: String) throws(StackError) -> [String] {
        var isFolder = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw StackError(.file, "there is no folder \(path); name a folder of recordings, see --help")
        }
        guard isFolder else { return [path] }
        var folder = path
        while folder.count > 1, folder.hasSuffix("/") { folder.removeLast() }
        var files: [String] = []
        try collect(folder, into: &files)
        guard !files.isEmpty else {
            throw StackError(
                .file, "there is no *.json below \(path); name a folder of recordings, see --help")
        }
        return files.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Whether a path leads to something.
    static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    /// Whether a path leads to a folder.
    static func isFolder(_ path: String) -> Bool {
        var isFolder = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder
    }

    private static func collect(_ folder: String, into files: inout [String]) throws(StackError) {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: folder)
        } catch {
            throw StackError(.file, "cannot read the folder \(folder); are you allowed to?")
        }
        for name in names {
            let path = folder == "/" ? "/\(name)" : "\(folder)/\(name)"
            // What has no attributes went away meanwhile or is a link into nothing, which reading it tells.
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            if attributes?[.type] as? FileAttributeType == .typeDirectory {
                try collect(path, into: &files)
            } else if name.hasSuffix(".json") {
                files.append(path)
            }
        }
    }
}
