import PowerSyncCrypto
import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif
#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The folder of a disk store, and where in it things are.
///
/// `objects/xx/KEY` are objects, `parts/UPLOAD/NUMBER` parts of an upload, beside `key`, the object that they are for, and
/// `incoming` is what is being written or joined, under names that mean nothing, and `name.NAME` are what the store is called.
/// All is for this user alone. Its calls block.
struct DiskFolder: Sendable {
    /// A part is not as it was listed.
    struct PartChanged: Error {}

    /// The whole of the parts is not what was announced.
    struct OtherBytes: Error {}

    /// Gives a file one more name; a negative result is an error number.
    typealias Link = @Sendable (_ file: String, _ name: String) -> Int32

    /// The folder.
    let path: String
    /// How a file gets one more name.
    var link: Link = { linkat(AT_FDCWD, $0, AT_FDCWD, $1, 0) == 0 ? 0 : -errno }

    /// The folder of what is being written.
    var incoming: String { "\(path)/incoming" }
    private var uploads: String { "\(path)/parts" }

    /// Returns the file of an object, whose key has been checked.
    ///
    /// A dot stands for the slash, which no key has; two letters in front keep folders small.
    func object(_ key: String) -> String {
        precondition(ObjectKey.isValid(key), "a key is checked before it is part of a path")
        return "\(folder(of: key))/\(key.replacing("/", with: "."))"
    }

    private func folder(of key: String) -> String {
        "\(path)/objects/\(Hexadecimal.encode([Digest.sha256(Array(key.utf8))[0]]))"
    }

    /// Returns the folder of an upload.
    private func folder(ofUpload upload: String) -> String {
        precondition(Self.isUpload(upload), "the name of an upload is checked before it is part of a path")
        return "\(uploads)/\(upload)"
    }

    /// Returns the file of a part.
    func part(_ number: Int, of upload: String) -> String { "\(folder(ofUpload: upload))/\(number)" }

    /// Returns a name for what is being written, which nothing else has.
    func newName() -> String { "\(incoming)/\(Hexadecimal.encode(randomBytes(16)))" }

    /// Whether a text can be the name of an upload.
    static func isUpload(_ text: String) -> Bool {
        text.utf8.count == 32
            && text.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }

    // MARK: Start

    /// Makes the folder and those in it; one above it that is missing was taken away, and must not come back.
    func prepare() throws(SystemError) {
        // The folder itself may be a link to where there is room.
        if !Self.isFolder("\(path)/.") { try Self.make(path) }
        for folder in ["\(path)/objects", uploads, incoming] { try Self.make(folder) }
    }

    /// Refuses a file system on which a file has one name: no upload in parts could be completed there.
    func requireLinks() throws(SystemError) {
        let file = try StagedFile(path: newName(), resuming: false)
        defer { file.discard() }
        let name = newName()
        let result = link(file.path, name)
        guard result == 0 else {
            throw SystemError(.file, "the file system of \(path) has no hard links", errno: -result)
        }
        // What stays is removed by the next start.
        unlink(name)
    }

    /// Returns the 32 bytes that sign, which are made at the first start.
    func signingKey() throws -> [UInt8] {
        let file = "\(path)/signing-key"
        if try BlobFile(path: file) == nil {
            let new = try StagedFile(path: newName(), resuming: false)
            do throws(SystemError) {
                try new.write(randomBytes(32))
                // The first of several processes wins: all sign with the key under this one name.
                try new.commit(to: file, replacing: false)
            } catch {
                new.discard()
                guard error.errno == EEXIST else { throw error }
            }
        }
        let key = try BlobFile(path: file)?.read(at: 0, count: 33) ?? []
        guard key.count == 32 else {
            throw SystemError(.file, "\(file) does not hold the 32 bytes of a key: remove it, and URLs end")
        }
        return key
    }

    /// Whether the store has a name.
    func isNamed(_ name: String) throws(SystemError) -> Bool { try BlobFile(path: file(ofName: name)) != nil }

    /// Gives the store a name.
    func takeName(_ name: String) throws(SystemError) {
        let file = try StagedFile(path: newName(), resuming: false)
        do throws(SystemError) {
            try file.commit(to: self.file(ofName: name), replacing: true)
        } catch {
            file.discard()
            throw error
        }
    }

    private func file(ofName name: String) -> String {
        precondition(ObjectKey.isValid(name), "a name is checked before it is part of a path")
        return "\(path)/name.\(name.replacing("/", with: "."))"
    }

    /// Removes what was being written when a process ended, and nobody holds, and uploads of which nothing can come: those
    /// whose object is there, those that are for none, and those that are without a part a day after they began, of which nobody
    /// may know.
    func sweep() throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: incoming) {
            let remains = "\(incoming)/\(name)"
            if Self.isFolder(remains) {
                Self.removeFolder(remains)
            } else {
                _ = try StagedFile.removeUnheld(remains)
            }
        }
        for upload in try FileManager.default.contentsOfDirectory(atPath: uploads) where Self.isUpload(upload)
        {
            if let key = try self.key(of: upload), try BlobFile(path: object(key)) == nil,
                !isAbandoned(upload)
            {
                continue
            }
            try removeUpload(upload)
        }
    }

    /// For how many seconds an upload without a part is kept.
    private static let abandoned = 86_400.0

    /// Whether an upload began long ago, and has no part.
    private func isAbandoned(_ upload: String) -> Bool {
        let folder = folder(ofUpload: upload)
        // What cannot be looked at stays.
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder), names == ["key"],
            let attributes = try? FileManager.default.attributesOfItem(atPath: "\(folder)/key"),
            let begun = attributes[.modificationDate] as? Date
        else { return false }
        return begun.timeIntervalSinceNow < -Self.abandoned
    }

    // MARK: Objects

    /// Makes the folder that an object lies in.
    func makeFolder(of key: String) throws(SystemError) { try Self.make(folder(of: key)) }

    /// Removes an object; nothing there is fine.
    func removeObject(_ key: String) throws(SystemError) {
        guard unlink(object(key)) == 0 else {
            if errno == ENOENT { return }
            throw SystemError(.file, "cannot remove an object", errno: errno)
        }
        try Self.sync(folder(of: key))
    }

    // MARK: Uploads

    /// Makes the folder of an upload.
    ///
    /// - Parameter key: the object.
    /// - Returns: the name of the upload.
    /// - Throws: `SystemError` with `.file`.
    func makeUpload(for key: String) throws(SystemError) -> String {
        let upload = Hexadecimal.encode(randomBytes(16))
        let new = newName()
        try Self.make(new)
        let file = try StagedFile(path: newName(), resuming: false)
        do throws(SystemError) {
            try file.write(Array(key.utf8))
            try file.commit(to: "\(new)/key", replacing: false)
            // There is no upload without its object.
            guard rename(new, folder(ofUpload: upload)) == 0 else {
                throw SystemError(.file, "cannot make an upload", errno: errno)
            }
            try Self.sync(uploads)
        } catch {
            file.discard()
            Self.removeFolder(new)
            throw error
        }
        return upload
    }

    /// Whether there is an upload for an object.
    func has(_ upload: String, for key: String) throws(SystemError) -> Bool {
        guard Self.isUpload(upload), let known = try self.key(of: upload) else { return false }
        return known.utf8.elementsEqual(key.utf8)
    }

    /// Returns the object that an upload is for; nil if there is none.
    private func key(of upload: String) throws(SystemError) -> String? {
        guard let file = try BlobFile(path: "\(folder(ofUpload: upload))/key") else { return nil }
        let key = String(decoding: try file.read(at: 0, count: ObjectKey.limit + 1), as: UTF8.self)
        return ObjectKey.isValid(key) ? key : nil
    }

    /// Returns the parts of an upload by their numbers; nil if there is none for the object.
    func parts(of upload: String, for key: String) throws -> [StoredPart]? {
        guard try has(upload, for: key) else { return nil }
        var parts: [StoredPart] = []
        for name in try FileManager.default.contentsOfDirectory(atPath: folder(ofUpload: upload)) {
            guard let number = Int(name), ObjectKey.partNumbers.contains(number),
                let file = try BlobFile(path: part(number, of: upload))
            else { continue }
            parts.append(StoredPart(number: number, size: file.size, tag: file.tag))
        }
        return parts.sorted { $0.number < $1.number }
    }

    /// Writes the parts of an upload behind each other, as an object that is not there yet.
    ///
    /// The parts get another name each before a byte is copied: one that comes in the place of another changes nothing then.
    ///
    /// - Parameters:
    ///   - parts: all of them, as they were listed.
    ///   - upload: the upload.
    ///   - key: the object.
    ///   - sha256: the 32 bytes of SHA-256 of the whole; nil if nobody knows them.
    ///   - write: writes to a file.
    /// - Returns: whether that is the object now; false if something was stored, or the upload is not there.
    /// - Throws: `SystemError` with `.file`, `PartChanged`, `OtherBytes`.
    func join(
        _ parts: [StoredPart], of upload: String, as key: String, sha256: [UInt8]?,
        _ write: @escaping BlobSink.Write
    ) throws -> Bool {
        guard try has(upload, for: key), try BlobFile(path: object(key)) == nil else { return false }
        let held = newName()
        try Self.make(held)
        defer { Self.removeFolder(held) }
        for part in parts { try hold(part, of: upload, in: held) }
        let whole = try BlobSink(path: newName(), write: write)
        do {
            for part in parts { try Self.append("\(held)/\(part.number)", to: whole) }
            let sum = whole.sha256()
            if let sha256, sum != sha256 { throw OtherBytes() }
            try makeFolder(of: key)
            try whole.commit(to: object(key), replacing: false)
        } catch let error as SystemError where error.errno == EEXIST {
            whole.discard()
            return false
        } catch {
            whole.discard()
            throw error
        }
        return true
    }

    /// Gives a part one more name, if it is the one that was listed.
    private func hold(_ part: StoredPart, of upload: String, in folder: String) throws {
        let name = "\(folder)/\(part.number)"
        let result = link(self.part(part.number, of: upload), name)
        guard result == 0 else {
            if result == -ENOENT { throw PartChanged() }
            throw SystemError(.file, "cannot hold a part of an upload", errno: -result)
        }
        guard let file = try BlobFile(path: name), file.size == part.size, file.tag == part.tag else {
            throw PartChanged()
        }
    }

    private static func append(_ path: String, to whole: BlobSink) throws {
        // A start of another process may take away what is held.
        guard let file = try BlobFile(path: path) else { throw PartChanged() }
        var offset: Int64 = 0
        while offset < file.size {
            let bytes = try file.read(at: offset, count: 1 << 20)
            if bytes.isEmpty { throw PartChanged() }
            try whole.write(bytes)
            offset += Int64(bytes.count)
        }
    }

    /// Removes an upload at once, and its parts then; none is fine.
    func removeUpload(_ upload: String) throws(SystemError) {
        guard Self.isUpload(upload) else { return }
        let gone = newName()
        guard rename(folder(ofUpload: upload), gone) == 0 else {
            if errno == ENOENT { return }
            throw SystemError(.file, "cannot remove an upload", errno: errno)
        }
        try Self.sync(uploads)
        Self.removeFolder(gone)
    }

    // MARK: Calls

    private static func make(_ folder: String) throws(SystemError) {
        guard mkdir(folder, 0o700) == 0 else {
            if errno == EEXIST, isFolder(folder) { return }
            throw SystemError(.file, "cannot make \(folder)", errno: errno)
        }
        guard let slash = folder.utf8.lastIndex(of: UInt8(ascii: "/")) else { return }
        try sync(slash == folder.startIndex ? "/" : String(folder[..<slash]))
    }

    private static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// What cannot be removed is in the way of nobody, and the next start tries again.
    private static func removeFolder(_ path: String) {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Returns when the names in a folder are on the disk.
    private static func sync(_ folder: String) throws(SystemError) {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(.file, "cannot open \(folder)", errno: errno) }
        defer { close(descriptor) }
        // Of a file system that writes names down by itself.
        guard fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP else {
            throw SystemError(.file, "cannot bring the names in \(folder) to the disk", errno: errno)
        }
    }
}
