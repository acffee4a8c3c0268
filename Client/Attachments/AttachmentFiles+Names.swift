/// Names of files that come out of rows (Client/Attachments/SPEC.md, Names).
extension AttachmentFiles {
    /// Refuses a filename that would lead out of the folder of the attachments, or into folders of ours.
    ///
    /// - Parameters:
    ///   - filename: a name, or one of the subdirectories with a name below it.
    ///   - subdirectories: the folders below that of the attachments in which files may lie.
    /// - Throws: `PowerSyncAttachmentError` with `invalidPath`.
    static func check(
        filename: String, subdirectories: [String]
    ) throws(PowerSyncAttachmentError) {
        let name = rest(of: filename.utf8[...], below: subdirectories)
        guard let fault = FilePlace.fault(of: name) else { return }
        throw .invalidPath("the filename of an attachment, for \(fault)")
    }

    /// Returns what stands behind the longest subdirectory that a filename begins with.
    private static func rest(of filename: Substring.UTF8View, below subdirectories: [String])
        -> Substring.UTF8View
    {
        let starts = subdirectories.compactMap { subdirectory -> [UInt8]? in
            var parts = subdirectory.utf8.split(
                separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            // A slash at the end counts for nothing.
            while parts.last?.isEmpty == true { parts.removeLast() }
            // One that leads elsewhere allows nothing.
            guard !parts.isEmpty, parts.allSatisfy({ FilePlace.fault(of: $0) == nil }) else { return nil }
            return parts.flatMap { Array($0) + [UInt8(ascii: "/")] }
        }
        let longest = starts.filter { filename.starts(with: $0) }.map(\.count).max()
        return filename.dropFirst(longest ?? 0)
    }
}
