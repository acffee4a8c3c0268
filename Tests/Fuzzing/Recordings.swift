import Foundation
import PowerSyncWire

/// The recordings in `Tests/Fixtures`.
enum Recordings {
    /// The service wrote bare NaN into nested data there, so that the recording is no JSON (service 3.14, D5).
    private static let broken = "types-nested-without-raw.json"

    /// Returns what the JSON files below a folder hold, sorted by path.
    static func read(_ folder: URL) throws -> [JSON] {
        let found = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        let files = (found?.allObjects ?? []).compactMap { $0 as? URL }
            .filter { $0.pathExtension == "json" && $0.lastPathComponent != broken }
        return try files.sorted { $0.path < $1.path }.map {
            try JSON.parse([UInt8](Data(contentsOf: $0)), limits: JSONLimits(depth: 512))
        }
    }
}
