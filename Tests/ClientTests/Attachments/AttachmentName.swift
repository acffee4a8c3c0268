import PowerSync

/// The SDK's: Swift Testing has a type of this name, too.
typealias Attachment = PowerSync.Attachment
