import CPowerSyncCurl
import Testing

@testable import PowerSyncHTTPClient

/// What is made of libcurl's results; the texts are those of libcurl 7.88 with OpenSSL 3.0.
struct CurlFailureTests {
    @Test(
        arguments: [
            // TLS 1.3 refuses behind the handshake, where the answer is read.
            (
                CURLE_RECV_ERROR.rawValue,
                "OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0",
                .identityRefused
            ),
            (
                CURLE_RECV_ERROR.rawValue,
                "OpenSSL SSL_read: OpenSSL/3.0.19: error:0A000418:SSL routines::tlsv1 alert unknown ca",
                .identityRefused
            ),
            (
                CURLE_SSL_CONNECT_ERROR.rawValue,
                "OpenSSL/3.0.19: error:0A000418:SSL routines::tlsv1 alert unknown ca", .identityRefused
            ),
            (
                CURLE_SSL_CONNECT_ERROR.rawValue,
                "OpenSSL/3.0.19: error:0A000410:SSL routines::sslv3 alert handshake failure", .tls
            ),
            (
                CURLE_SSL_CONNECT_ERROR.rawValue,
                "OpenSSL/3.0.19: error:0A00010B:SSL routines::wrong version number", .tls
            ),
            (CURLE_SSL_CONNECT_ERROR.rawValue, "OpenSSL/3.0.19: error:0A", .tls),
            (CURLE_RECV_ERROR.rawValue, "Recv failure: Connection reset by peer", .cut),
            (CURLE_SSL_CLIENTCERT.rawValue, "", .identityRefused),
            (
                CURLE_SSL_CERTPROBLEM.rawValue, "unable to set private key file: 'c.key' type PEM",
                .badConfiguration
            ),
            (CURLE_SSL_CACERT_BADFILE.rawValue, "error setting certificate file: nowhere.pem", .tls),
            (CURLE_PROXY.rawValue, "User was rejected by the SOCKS5 server (1 1).", .proxyRefused),
            (
                CURLE_COULDNT_RESOLVE_PROXY.rawValue, "Could not resolve proxy: nowhere.invalid",
                .couldNotResolve
            ),
        ] as [(CURLcode.RawValue, String, HTTPClientError.Code)])
    func aResultHasItsMeaning(_ code: CURLcode.RawValue, _ detail: String, _ kind: HTTPClientError.Code) {
        let error = CurlFailure(code: CURLcode(rawValue: code), detail: detail).error
        #expect(error.code == kind)
        #expect(error.message == detail || detail.isEmpty && !error.message.isEmpty)
    }

    @Test(arguments: [true, false])
    func authoritiesThatCannotBeReadAreToBlameIfTheyWereGiven(_ areGiven: Bool) {
        let failure = CurlFailure(code: CURLE_SSL_CACERT_BADFILE, hasAuthorities: areGiven)
        #expect(failure.error.code == (areGiven ? .badConfiguration : .tls))
    }

    @Test func aBodyThatCannotBeSentAgainWasCut() {
        let error = CurlFailure(code: CURLE_SEND_FAIL_REWIND, detail: "seek callback returned error 1").error
        #expect(error.code == .cut)
        #expect(error.message == "The connection broke while the request was being sent")
    }

    @Test(arguments: [0: false, 1: false, 10: false, 2: true, 18: true, 19: true, 20: true, 21: true])
    func anUnknownAuthorityIsToldApart(_ finding: Int, _ isUnknown: Bool) {
        let failure = CurlFailure(code: CURLE_PEER_FAILED_VERIFICATION, verifyResult: finding)
        #expect(failure.error.code == (isUnknown ? .untrustedAuthority : .tls))
    }

    @Test(arguments: [0: false, 200: false, 204: false, 403: true, 407: true, 502: true])
    func aTunnelThatIsRefusedIsTheProxysDoing(_ status: Int, _ isRefused: Bool) {
        let failure = CurlFailure(code: CURLE_RECV_ERROR, connectStatus: status)
        #expect(failure.error.code == (isRefused ? .proxyRefused : .cut))
    }

    @Test(arguments: [
        "Unsupported proxy scheme for 'ftp://u:secret@127.0.0.1:1'",
        "Unsupported proxy syntax in 'http://u:secret@127.0.0.1:1:1'",
    ])
    func anAddressThatLibcurlQuotesIsNotShown(_ detail: String) {
        let error = CurlFailure(code: CURLE_COULDNT_CONNECT, detail: detail).error
        #expect(error.code == .couldNotConnect)
        #expect(!error.message.isEmpty)
        #expect(!"\(error)".contains("secret"))
    }
}
