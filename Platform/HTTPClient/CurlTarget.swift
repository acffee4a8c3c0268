import CPowerSyncCurl
import PowerSyncHTTP
import PowerSyncSystem

/// What has to be known of a request before libcurl gets it; pure.
struct CurlTarget {
    /// Whether the address is this machine, for which proxies of the environment are wrong.
    let isLoopback: Bool

    init(_ url: String) throws(HTTPClientError) {
        guard let (scheme, host) = try Self.parts(of: url), ["http", "https"].contains(scheme) else {
            throw HTTPClientError(.badURL, "The address is not one of http or https")
        }
        let isInNetwork127 = IPAddress(host).map { $0.bytes.count == 4 && $0.bytes[0] == 127 } ?? false
        isLoopback =
            host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]" || isInNetwork127
    }

    /// Refuses the address of a proxy that cannot be used, without showing the password that may be in it.
    static func check(proxy: String) throws(HTTPClientError) {
        let schemes = ["http", "https", "socks5", "socks5h"]
        guard let (scheme, _) = try parts(of: proxy), schemes.contains(scheme) else {
            throw HTTPClientError(
                .badConfiguration,
                "The proxy is no address of http, https or socks5, such as http://proxy.example.com:3128")
        }
    }

    /// Refuses what would end a line of the request too early.
    static func check(method: String, fields: HTTPFields) throws(HTTPClientError) {
        guard !method.isEmpty, method.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw HTTPClientError(.badRequest, "The method cannot be sent")
        }
        for (name, value) in fields {
            guard !name.isEmpty, name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }),
                value.utf8.allSatisfy({ $0 != 0 && $0 != 0x0A && $0 != 0x0D })
            else {
                throw HTTPClientError(.badRequest, "A header field cannot be sent")
            }
        }
    }

    /// Takes an address apart, whatever its scheme; nil for what is none.
    private static func parts(of url: String) throws(HTTPClientError) -> (scheme: String, host: String)? {
        guard let handle = curl_url() else { throw HTTPClientError(.other, "libcurl has no memory") }
        defer { curl_url_cleanup(handle) }
        guard curl_url_set(handle, CURLUPART_URL, url, UInt32(CURLU_NON_SUPPORT_SCHEME)) == CURLUE_OK,
            let scheme = part(CURLUPART_SCHEME, of: handle), let host = part(CURLUPART_HOST, of: handle),
            !host.isEmpty
        else { return nil }
        return (scheme, host)
    }

    private static func part(_ part: CURLUPart, of handle: OpaquePointer) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &text, 0) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text).lowercased()
    }
}
