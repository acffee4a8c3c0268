import PowerSyncHTTP

/// Whether a body is JSON by what its sender says (backend 1.5).
package enum MediaType {
    /// Requires `application/json` or a type that ends in `+json`, in UTF-8 and not compressed.
    ///
    /// - Parameter fields: of the request.
    /// - Throws: `Problem` 415.
    package static func requireJSON(_ fields: HTTPFields) throws(Problem) {
        let encoding = fields["content-encoding"]?.lowercased() ?? "identity"
        let parts = (fields["content-type"] ?? "").lowercased().split(separator: ";").map {
            ValueConversion.trimmed(String($0))
        }
        let isJSON = parts.first.map {
            $0 == "application/json" || $0.hasPrefix("application/") && $0.hasSuffix("+json")
        }
        let isUTF8 = parts.dropFirst().allSatisfy { parameter in
            guard parameter.hasPrefix("charset=") else { return true }
            return ["utf-8", "utf8"].contains(parameter.dropFirst(8).filter { $0 != "\"" })
        }
        guard encoding == "identity", isJSON ?? false, isUTF8 else { throw .unsupportedMediaType }
    }
}
