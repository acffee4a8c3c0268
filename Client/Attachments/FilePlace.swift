/// A path as the folder and the name that it is made of.
struct FilePlace {
    /// The path of the folder.
    let folder: String
    /// The name in the folder.
    let name: String

    /// Takes a path apart.
    init(_ path: String) {
        // By bytes: to `Character` a slash and a combining mark behind it are one.
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else {
            folder = "."
            name = path
            return
        }
        folder = slash == path.utf8.startIndex ? "/" : String(path[..<slash])
        name = String(path[path.utf8.index(after: slash)...])
    }

    /// Returns the path of a name in a folder.
    static func path(of name: String, in folder: String) -> String {
        folder.utf8.last == UInt8(ascii: "/") ? folder + name : "\(folder)/\(name)"
    }

    /// Returns what keeps bytes from being the name of a file of the app's; nil for nothing.
    static func fault(of name: some Collection<UInt8>) -> String? {
        if name.isEmpty { return "it is empty" }
        if name.count > 255 { return "it has more than 255 bytes" }
        if name.contains(0) { return "it has a NUL" }
        if name.contains(UInt8(ascii: "/")) { return "it has a separator" }
        if name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8) { return "it names a folder" }
        // Some file systems do not tell the case of letters apart.
        let start = name.prefix(ours.utf8.count).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        return start.elementsEqual(ours.utf8) ? "it begins with \(ours)" : nil
    }

    /// What the names of our own folders and files begin with.
    static let ours = ".powersync-"
}
