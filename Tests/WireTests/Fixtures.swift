import Foundation
import PowerSyncWire

/// Where the recordings of the official parts lie.
enum Fixtures {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures")

    static func files(_ folder: String) throws -> [URL] {
        try FileManager.default
            .contentsOfDirectory(at: root.appending(path: folder), includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "json" }.sorted { $0.path < $1.path }
    }

    /// Every object with a member "line", however deep.
    static func recordedLines(in json: JSON) -> [JSON] {
        if json["line"]?.objectMembers != nil { return [json] }
        switch json {
        case .array(let elements): return elements.flatMap(recordedLines)
        case .object(let members): return members.flatMap { recordedLines(in: $0.value) }
        default: return []
        }
    }
}
