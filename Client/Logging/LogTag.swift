/// The tags of the database's log lines.
enum LogTag {
    static let database = "PowerSyncDatabase"
    static let groups = "DatabaseGroupCollection"
    static let sync = "StreamingSyncClient"
    static let changes = "CrossProcessChangeSignal"
    static let attachmentQueue = "AttachmentQueue"
    static let attachmentSync = "AttachmentSync"
}
