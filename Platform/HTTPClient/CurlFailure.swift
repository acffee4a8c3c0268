import CPowerSyncCurl

/// What libcurl tells of a transfer that failed, and what it means; pure.
struct CurlFailure {
    /// The result.
    var code: CURLcode
    /// The text for this transfer; empty if there is none.
    var detail = ""
    /// The status with which a proxy answered CONNECT, 0 if none did.
    var connectStatus = 0
    /// What OpenSSL found wrong with a certificate (openssl-verification-options(1)), 0 for nothing.
    var verifyResult = 0
    /// Whether the client is configured with the authorities that it trusts.
    var hasAuthorities = false

    /// The error that the caller gets.
    var error: HTTPClientError {
        if code == CURLE_SEND_FAIL_REWIND {
            return HTTPClientError(kind, "The connection broke while the request was being sent")
        }
        // libcurl quotes the address of a proxy that it cannot use, and the password in it.
        let isShown = !detail.isEmpty && !detail.contains("@")
        return HTTPClientError(kind, isShown ? detail : String(cString: curl_easy_strerror(code)))
    }

    private var kind: HTTPClientError.Code {
        if connectStatus != 0, connectStatus / 100 != 2 { return .proxyRefused }
        if let alert, Self.refusals.contains(alert) { return .identityRefused }
        switch code {
        case CURLE_COULDNT_CONNECT: return .couldNotConnect
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: return .couldNotResolve
        case CURLE_PROXY: return .proxyRefused
        case CURLE_OPERATION_TIMEDOUT: return .timedOut
        // A body that could not be sent again from its beginning had been cut.
        case CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING,
            CURLE_WEIRD_SERVER_REPLY, CURLE_SEND_FAIL_REWIND:
            return .cut
        case CURLE_SSL_CERTPROBLEM: return .badConfiguration
        case CURLE_SSL_CLIENTCERT: return .identityRefused
        case CURLE_PEER_FAILED_VERIFICATION:
            return Self.unknownAuthorities.contains(verifyResult) ? .untrustedAuthority : .tls
        case CURLE_SSL_CACERT_BADFILE: return hasAuthorities ? .badConfiguration : .tls
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            return .tls
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: return .badURL
        default: return .other
        }
    }

    /// The findings of a certificate that leads to no authority which is trusted (X509_V_ERR_… in x509_vfy.h).
    private static let unknownAuthorities: Set = [2, 18, 19, 20, 21]

    // MARK: What the peer says of our certificate

    /// The alerts that speak of the certificate of whoever gets them, or of its lack (RFC 8446, 6.2).
    ///
    /// Before TLS 1.3 the lack is a handshake failure (40), which may mean other things, too.
    private static let refusals: Set = [42, 43, 44, 45, 46, 48, 49, 116]

    /// The number of the alert that the peer sent; nil for another reason.
    ///
    /// libcurl has no code for it, and a refusal by TLS 1.3 comes while the answer is read. Its text holds OpenSSL's
    /// number in a form that programs may read (ERR_error_string(3)): 0A is the library, and alerts begin at 1000.
    private var alert: Int? {
        guard let mark = detail.firstRange(of: "error:0A") else { return nil }
        let digits = detail[mark.upperBound...].prefix(6)
        guard digits.count == 6, let reason = Int(digits, radix: 16), (1000..<1256).contains(reason) else {
            return nil
        }
        return reason - 1000
    }
}
