import CPowerSyncCurl
import PowerSyncSystem

/// What a transfer has of the configuration of its client.
extension CurlTransfer {
    /// Chooses between a proxy and the straight way.
    ///
    /// - Parameters:
    ///   - configuration: what the client is configured with.
    ///   - isLoopback: whether the server is this machine, for which proxies of the environment are wrong.
    /// - Returns: the results of the options.
    func setProxy(_ configuration: HTTPClientConfiguration, isLoopback: Bool) -> [CURLcode] {
        // A proxy looks names up itself.
        guard transfer.request.rejectedAddresses.isEmpty else {
            return [ps_curl_set_string(easy, CURLOPT_PROXY, "")]
        }
        var codes: [CURLcode] = []
        if let proxy = configuration.proxy ?? (isLoopback ? "" : nil) {
            codes.append(ps_curl_set_string(easy, CURLOPT_PROXY, proxy))
        }
        // libcurl would have `no_proxy` of the environment count for any proxy.
        if let hosts = configuration.noProxy ?? (configuration.proxy == nil ? nil : "") {
            codes.append(ps_curl_set_string(easy, CURLOPT_NOPROXY, hosts))
        }
        return codes
    }

    /// Says whom to trust, and what to show to a server that asks for a certificate.
    ///
    /// - Parameter configuration: what the client is configured with.
    /// - Returns: the results of the options.
    func setCertificates(_ configuration: HTTPClientConfiguration) -> [CURLcode] {
        var codes: [CURLcode] = []
        if let authorities = configuration.authorities {
            codes += [
                set(authorities, file: CURLOPT_CAINFO, blob: CURLOPT_CAINFO_BLOB),
                set(authorities, file: CURLOPT_PROXY_CAINFO, blob: CURLOPT_PROXY_CAINFO_BLOB),
                // Distributions build libcurl with a folder of the system's authorities beside their file.
                leaveOut(CURLOPT_CAPATH), leaveOut(CURLOPT_PROXY_CAPATH),
            ]
        }
        if let identity = configuration.identity {
            codes += [
                set(identity.certificate, file: CURLOPT_SSLCERT, blob: CURLOPT_SSLCERT_BLOB),
                set(identity.key ?? identity.certificate, file: CURLOPT_SSLKEY, blob: CURLOPT_SSLKEY_BLOB),
                // Without any, OpenSSL would ask for it on the terminal.
                ps_curl_set_string(easy, CURLOPT_KEYPASSWD, identity.password ?? ""),
            ]
        }
        return codes
    }

    private func set(
        _ pem: HTTPClientConfiguration.PEM, file: CURLoption, blob: CURLoption
    ) -> CURLcode {
        switch pem {
        case .file(let path): ps_curl_set_string(easy, file, path)
        case .text(let text):
            Array(text.utf8).withUnsafeBytes { ps_curl_set_blob(easy, blob, $0.baseAddress, $0.count) }
        }
    }

    /// Names a folder of authorities that is none: without any, libcurl from 8.17 on takes the one that it was built
    /// with.
    ///
    /// A libcurl that never looks into one says that it is not built for that.
    private func leaveOut(_ option: CURLoption) -> CURLcode {
        let code = ps_curl_set_string(easy, option, "/dev/null")
        return code == CURLE_NOT_BUILT_IN ? CURLE_OK : code
    }
}
