/// What the name of a file tells of its content.
enum FileName {
    private static let mediaTypes = [
        "avif": "image/avif", "csv": "text/csv", "gif": "image/gif", "heic": "image/heic",
        "html": "text/html", "jpeg": "image/jpeg", "jpg": "image/jpeg", "json": "application/json",
        "m4a": "audio/mp4",
        "mov": "video/quicktime", "mp3": "audio/mpeg", "mp4": "video/mp4", "pdf": "application/pdf",
        "png": "image/png", "svg": "image/svg+xml", "txt": "text/plain", "webm": "video/webm",
        "webp": "image/webp", "zip": "application/zip",
    ]
    /// The longest ending that is taken for one.
    private static let longestExtension = 16

    /// Returns the letters and digits behind the last point of a name; nil if there are none.
    static func fileExtension(of path: String) -> String? {
        let name = path.split(separator: "/").last ?? ""
        guard let point = name.lastIndex(of: "."), point > name.startIndex else { return nil }
        let ending = name[name.index(after: point)...]
        let isOne = ending.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: false
            }
        }
        return isOne && (1...longestExtension).contains(ending.utf8.count) ? String(ending) : nil
    }

    /// Returns the media type of a name; that of any bytes where the name does not tell.
    static func mediaType(of path: String) -> String {
        fileExtension(of: path).flatMap { mediaTypes[$0.lowercased()] } ?? "application/octet-stream"
    }
}
