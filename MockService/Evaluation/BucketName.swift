import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncWire

/// Spells the names of buckets (service 5).
package enum BucketName {
    /// The name of a bucket, without the prefix of the replication stream.
    ///
    /// - Parameters:
    ///   - source: The part before the values, such as `todos|0`.
    ///   - values: One for each key.
    /// - Returns: The name; nil if a value is NULL or a BLOB, which means no bucket.
    package static func make(source: String, values: [SQLiteValue]) -> String? {
        var parts: [String] = []
        parts.reserveCapacity(values.count)
        for value in values {
            guard let text = text(value) else { return nil }
            parts.append(text)
        }
        return make(source: source, texts: parts)
    }

    /// The name of a bucket whose values are texts already.
    static func make(source: String, texts: [String]) -> String {
        source + "[" + texts.joined(separator: ",") + "]"
    }

    /// A value as it stands in a name; equal texts mean the same bucket.
    static func text(_ value: SQLiteValue) -> String? {
        switch value {
        case .null, .blob: nil
        case .integer(let integer): String(integer)
        case .real(let real): NumberText.normalized(real)
        case .text(let text): JSON.quoted(text)
        }
    }
}
