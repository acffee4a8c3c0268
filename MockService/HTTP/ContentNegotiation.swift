import PowerSyncCompression

/// Chooses how a stream is compressed (service 1.5).
package enum ContentNegotiation {
    /// The best of zstd and gzip that an Accept-Encoding field allows; nil for neither.
    package static func compression(_ field: String?) -> CompressionFormat? {
        var refused: Set<String> = []
        var named: Set<String> = []
        for part in (field ?? "").split(separator: ",") {
            let pieces = part.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let name = pieces.first else { continue }
            let quality =
                pieces.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            if quality > 0 { named.insert(name) } else { refused.insert(name) }
        }
        for format in [CompressionFormat.zstd, .gzip] where !refused.contains(format.rawValue) {
            if named.contains(format.rawValue) || named.contains("*") { return format }
        }
        return nil
    }
}
