import CPowerSyncCurl
import PowerSyncHTTP

/// What has to be known of a request before libcurl gets it; pure.
struct CurlTarget {
    /// Whether the address is this machine, for which proxies of the environment are wrong.
    let isLoopback: Bool

    init(_ url: String) throws(HTTPClientError) {
        guard let handle = curl_url() else { throw HTTPClientError(.other, "libcurl has no memory") }
        defer { curl_url_cleanup(handle) }
        guard curl_url_set(handle, CURLUPART_URL, url, 0) == CURLUE_OK,
            let scheme = Self.part(CURLUPART_SCHEME, of: handle),
            let host = Self.part(CURLUPART_HOST, of: handle),
            ["http", "https"].contains(scheme), !host.isEmpty
        else {
            throw HTTPClientError(.badURL, "The address is not one of http or https")
        }
        isLoopback =
            host == "localhost" || host.hasSuffix(".localhost") || host.hasPrefix("127.") || host == "[::1]"
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

    private static func part(_ part: CURLUPart, of handle: OpaquePointer) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &text, 0) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text).lowercased()
    }
}

/// The meaning of libcurl's result codes.
enum CurlFailure {
    /// Returns the error for a code; `detail` is libcurl's text for this transfer, if it left one.
    static func error(_ code: CURLcode, detail: String) -> HTTPClientError {
        HTTPClientError(kind(code), detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail)
    }

    private static func kind(_ code: CURLcode) -> HTTPClientError.Code {
        switch code {
        case CURLE_COULDNT_CONNECT: .couldNotConnect
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .couldNotResolve
        case CURLE_OPERATION_TIMEDOUT: .timedOut
        case CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING,
            CURLE_WEIRD_SERVER_REPLY:
            .cut
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            .tls
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: .badURL
        default: .other
        }
    }
}
