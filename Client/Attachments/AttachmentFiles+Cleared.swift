#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Folders whose rows are cleared: `PLACE/FOLDER` lies in `PLACE/.powersync-cleared-FOLDER` until it is removed
/// (Client/Attachments/SPEC.md, Files).
extension AttachmentFiles {
    /// Takes a folder away from its path, with all that is in it, in one step.
    ///
    /// - Parameter folder: the path.
    /// - Returns: where it is now; nil where there is none, or where it has to stay: in a folder that may not be written to,
    ///   for example.
    func setAside(_ folder: String) -> String? {
        let place = Self.place(ofCleared: folder)
        let aside = FilePlace.path(of: String(UInt64.random(in: 0 ... .max), radix: 16), in: place)
        // Each turn but the first needs somebody who removes the place at that moment.
        for _ in 0..<8 {
            var status = stat()
            guard lstat(folder, &status) == 0 else { break }
            guard mkdir(place, 0o700) == 0 || errno == EEXIST else { break }
            // A link in its place is not followed.
            guard lstat(place, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { continue }
            if rename(folder, aside) == 0 { return aside }
            guard errno == ENOENT else { break }
        }
        forgetPlace(ofCleared: folder)
        return nil
    }

    /// Returns where those folders are that were set aside and not removed.
    ///
    /// - Parameter folder: the path that they had.
    /// - Returns: their paths.
    /// - Throws: `PowerSyncAttachmentError`.
    func foldersSetAside(from folder: String) throws(PowerSyncAttachmentError) -> [String] {
        let place = Self.place(ofCleared: folder)
        return try Self.names(in: place).map { FilePlace.path(of: $0, in: place) }
    }

    /// Gives a folder its path back, unless something is there.
    func putBack(_ aside: String, as folder: String) { _ = rename(aside, folder) }

    /// Removes the place of what was set aside, once nothing is in it.
    func forgetPlace(ofCleared folder: String) { _ = rmdir(Self.place(ofCleared: folder)) }

    private static func place(ofCleared folder: String) -> String {
        let place = FilePlace(folder)
        return FilePlace.path(of: "\(FilePlace.ours)cleared-\(place.name)", in: place.folder)
    }
}
