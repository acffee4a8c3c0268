import Foundation
import PowerSyncTestSupport
import PowerSyncWire

/// The lines that the official parts sent, as they were recorded.
enum RecordedLines {
    /// Returns every object with a member "line" in the recordings of a folder of the fixtures, with its file.
    static func entries(of folder: String) throws -> [(file: String, entry: JSON)] {
        try Repository.fixtureFiles(folder)
            // The service wrote bare NaN and Infinity into nested data there, which is no JSON (service 3.14, D5).
            .filter { $0.lastPathComponent != "types-nested-without-raw.json" }
            .flatMap { file in
                let recording = try JSON.parse(
                    [UInt8](Data(contentsOf: file)), limits: JSONLimits(depth: 512))
                return entries(in: recording).map { (file.lastPathComponent, $0) }
            }
    }

    /// Looks however deep.
    private static func entries(in json: JSON) -> [JSON] {
        if json["line"]?.objectMembers != nil { return [json] }
        switch json {
        case .array(let elements): return elements.flatMap(entries)
        case .object(let members): return members.flatMap { entries(in: $0.value) }
        default: return []
        }
    }
}
