import PowerSyncHTTPServer

/// What follows from the configuration for the HTTP server.
extension BackendConfiguration {
    /// The bytes of all bodies that are being read or worked on.
    var bodyMemory: Int { uploadMemory / 4 }

    /// The memory for what is made of them.
    var treeMemory: Int { uploadMemory - bodyMemory }

    /// Where the server listens and what it puts up with (backend 7, number 11).
    ///
    /// - Parameter environment: the time and chance.
    /// - Returns: the server's configuration.
    package func server(_ environment: BackendEnvironment) -> HTTPServerConfiguration {
        var server = HTTPServerConfiguration(host: host, port: port)
        server.headerTimeout = headerTimeout
        server.bodyTimeout = bodyTimeout
        server.bodyBytesPerSecond = bodyBytesPerSecond
        server.bodyMinimumPerSecond = 1 << 10
        server.bodyGrace = bodyTimeout / 6
        server.bodyWait = admissionTimeout
        server.maxHeldBodyBytes = bodyMemory
        // Each transfer has a file open, and those that wait for a thread look into one.
        if case .disk? = attachments?.store { server.reservedDescriptors += BlobRoutes.mostTransfers + 32 }
        // That server knows nothing of this one: its connections, those that leave it, and its listener.
        if links.metricsPort != nil { server.reservedDescriptors += MetricsServer.mostConnections + 33 }
        server.ownAnswer = { status, message in
            Problem(
                serverStatus: status, detail: message, retryAfter: 1 + Int(environment.random() * 4)
            ).response(requestID: environment.uniqueName())
        }
        return server
    }
}
