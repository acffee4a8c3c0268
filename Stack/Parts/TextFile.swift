import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Whole files of text, with errors that name the file.
enum TextFile {
    /// Reads a file.
    ///
    /// - Parameter path: the file.
    /// - Returns: its text.
    /// - Throws: `StackError` with `.file`.
    static func read(_ path: String) throws(StackError) -> String {
        do throws(SystemError) {
            return try FileBytes.text(ofFile: path)
        } catch {
            throw StackError(.file, "\(error)")
        }
    }

    /// Makes a folder and those above it.
    ///
    /// - Parameter path: the folder.
    /// - Throws: `StackError` with `.file`.
    static func makeFolder(_ path: String) throws(StackError) {
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw StackError(.file, "cannot make the folder \(path)")
        }
    }

    /// Returns the path from the root, so that children in other folders find it too.
    static func absolutePath(_ path: String) -> String {
        if path.hasPrefix("/") { return path }
        return FileManager.default.currentDirectoryPath + "/" + path
    }
}
