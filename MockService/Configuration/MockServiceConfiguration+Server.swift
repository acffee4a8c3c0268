import PowerSyncHTTPServer

/// What follows from the configuration for the HTTP server.
extension MockServiceConfiguration {
    /// Where the server listens and what it puts up with.
    var server: HTTPServerConfiguration {
        HTTPServerConfiguration(
            host: host, port: port, name: "the sync service", headerTimeout: headerTimeout,
            writeTimeout: writeTimeout,
            // The metrics have up to 48 of them, with those who are refused.
            reservedDescriptors: 128, ownAnswerFields: ServiceRouter.commonFields)
    }
}
