import PowerSyncCompression
import PowerSyncServiceEngine

/// How the lines of a stream are spelled (service 1.5).
package enum LineFormat: String, Sendable {
    /// One JSON text a line.
    case ndjson = "application/x-ndjson"
    /// BSON documents back to back.
    case bson = "application/vnd.powersync.bson-stream"
}

/// Chooses how a stream is spelled and compressed (service 1.5).
package enum ContentNegotiation {
    /// The format that an Accept field prefers; NDJSON where it names neither, refuses both or does not care.
    ///
    /// A larger quality wins, then the narrower range, then what comes first (RFC 9110, 12.5.1).
    package static func format(_ field: String?) -> LineFormat {
        let ranges = elements(field)
        func preference(_ format: LineFormat) -> (quality: Double, width: Int, place: Int)? {
            let names = [format.rawValue, "application/*", "*/*"]
            // The narrowest range that fits says how much the format is wanted.
            for (width, name) in names.enumerated() {
                guard let place = ranges.firstIndex(where: { $0.name == name }) else { continue }
                return ranges[place].quality > 0 ? (ranges[place].quality, width, place) : nil
            }
            return nil
        }
        guard let bson = preference(.bson) else { return .ndjson }
        guard let ndjson = preference(.ndjson) else { return .bson }
        return (-bson.quality, bson.width, bson.place) < (-ndjson.quality, ndjson.width, ndjson.place)
            ? .bson : .ndjson
    }

    /// The best of zstd and gzip that an Accept-Encoding field allows; nil for neither.
    package static func compression(_ field: String?) -> CompressionFormat? {
        let codings = elements(field)
        func isAllowed(_ name: String) -> Bool? { codings.first { $0.name == name }.map { $0.quality > 0 } }
        return [CompressionFormat.zstd, .gzip].first {
            isAllowed($0.rawValue) ?? isAllowed("*") ?? false
        }
    }

    /// The elements of a field with their qualities, 1 where none is given or it is no number.
    private static func elements(_ field: String?) -> [(name: String, quality: Double)] {
        (field ?? "").split(separator: ",").compactMap { part in
            let pieces = part.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let name = pieces.first else { return nil }
            let quality = pieces.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) }
            return (name, quality ?? 1)
        }
    }
}

extension LineForm.Format {
    /// What lines are spelled as in a format of a stream.
    ///
    /// - Parameters:
    ///   - format: What was negotiated.
    ///   - rawData: What the request says of data; in BSON it is a text whatever that says (service 1.7).
    package init(_ format: LineFormat, rawData: Bool) {
        switch format {
        case .bson: self = .bson
        case .ndjson: self = rawData ? .raw : .nested
        }
    }
}
