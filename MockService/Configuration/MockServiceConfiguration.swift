import PowerSyncCrypto
import PowerSyncPostgresSource
import PowerSyncServiceEngine
import PowerSyncSystem

/// Everything that a service needs to know (service 8).
package struct MockServiceConfiguration: Sendable {
    /// The source database.
    package var source: SourceDatabase
    /// What the admin routes call the connection.
    package var connectionID = "default"
    /// What they say of its tag.
    package var connectionTag = "default"
    /// The tokens of the admin routes; without one nobody is let in.
    package var apiTokens: [String] = []
    /// What names of replication slots begin with.
    package var slotNamePrefix = "powersync_"
    /// How often the log is moved on when nothing else does.
    package var heartbeat: Duration = .seconds(60)
    /// How long the link to the source may be silent.
    package var linkTimes = LinkTimes()
    /// The SQLite file that holds the state.
    package var statePath: String
    /// How much of it is written at once, and how it is kept small.
    package var storeLimits = StoreLimits()
    /// The address to listen on; all interfaces, as the real service does in its container.
    package var host = "0.0.0.0"
    /// The port; 0 is any that is free.
    package var port = 8080
    /// The port for Prometheus, path `/metrics`; 0 is any that is free, nil none.
    package var metricsPort: Int?
    /// How the probes can be asked.
    package var probes = ProbeSettings()
    /// The sync configuration, with the file that its places are of.
    package var syncConfig: SyncConfigText
    /// Keys that are known beforehand.
    package var keys: [JSONWebKey] = []
    /// Addresses of further keys.
    package var jwksURIs: [String] = []
    /// Addresses that keys are not fetched from, whatever name they stand behind.
    package var rejectedKeyAddresses = IPRanges()
    /// The keys of a Supabase project.
    package var supabase: SupabaseKeys?
    /// The audiences of which a token must name one.
    package var audience: [String] = []
    /// Streams that may be open at once.
    package var maxConcurrentConnections = 200
    /// Requests for write checkpoints that may be in work, and that may wait (service 1.1).
    package var checkpointRequests = TaskPlaces.Limits(active: 100, waiting: 100)
    /// Clients of one user of which write checkpoints are kept: each that is given has to be known for ever.
    package var maxClientsPerUser = 10_000
    /// How long write checkpoints are kept that clients named.
    package var checkpointRequestRetention = Duration.seconds(3600)
    /// From how many bytes of lines on, of all streams together, these wait in turn before they read further ones.
    package var maxLinesInFlightBytes = StoreLimits().readFrameBytes
    /// How long a client may take less than 64 KiB of an answer while more of it waits.
    package var writeTimeout: Duration = .seconds(30)
    /// How long the head of a request may take from its first byte, and the first byte from the connection.
    package var headerTimeout: Duration = .seconds(10)
    /// How long requests that have arrived may take to be answered at a stop.
    package var grace: Duration = .seconds(2)
    /// Buckets that one stream may have.
    package var maxBucketsPerConnection = 1000
    /// Rows of lookups and elements of arrays that one stream may come to.
    package var maxParameterQueryResults = 1000
    /// How many streams read data at once, and no more than `StoreLimits.readers`.
    package var maxDataFetchConcurrency = 10

    /// Makes a configuration with the defaults of the real service.
    ///
    /// - Parameters:
    ///   - source: The source database.
    ///   - statePath: The SQLite file that holds the state.
    ///   - syncConfig: The YAML text of the sync configuration.
    package init(source: SourceDatabase, statePath: String, syncConfig: String) {
        self.source = source
        self.statePath = statePath
        self.syncConfig = SyncConfigText(file: "sync config", text: syncConfig)
    }

    /// Whether there is a key, or an address of keys, beside those of a Supabase project.
    var hasKeys: Bool { !keys.isEmpty || !jwksURIs.isEmpty }
}

/// A configuration that cannot be used.
package struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong, where, and what is wanted instead.
    package let message: String

    /// Makes an error.
    package init(_ message: String) { self.message = message }

    /// The message.
    package var description: String { message }
}
