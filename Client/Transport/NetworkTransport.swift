import PowerSyncHTTPClient

/// The way to the service over the network.
enum NetworkTransport {
    /// Makes the way that the app has asked for.
    ///
    /// That is libcurl; on Apple systems URLSession, unless there are options for libcurl.
    ///
    /// - Parameter configuration: what the app has asked for.
    /// - Returns: the way, for one connection.
    /// - Throws: `HTTPClientError` for options that cannot be used, or where the system has no thread.
    static func make(_ configuration: SyncClientConfiguration?) throws -> any SyncTransport {
        #if canImport(Darwin)
            guard configuration?.transport != nil else {
                return URLSessionTransport(configuration?.urlSession ?? .shared)
            }
        #endif
        return try HTTPClientTransport(configuration?.transport)
    }
}

extension HTTPClientConfiguration {
    /// Reads the options of an app; nil leaves all as the system has it.
    init(_ options: TransportOptions?) {
        self.init()
        guard let options else { return }
        proxy = options.proxy
        noProxy = options.noProxy?.joined(separator: ",")
        authorities = options.certificateAuthorities.map(PEM.init)
        identity = options.clientCertificate.map {
            Identity(certificate: PEM($0.certificate), key: $0.key.map(PEM.init), password: $0.password)
        }
    }
}

extension HTTPClientConfiguration.PEM {
    fileprivate init(_ pem: TransportOptions.PEM) {
        switch pem {
        case .file(let path): self = .file(path)
        case .text(let text): self = .text(text)
        }
    }
}
