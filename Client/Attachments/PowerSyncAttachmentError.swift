#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a queue of attachments and its storage on this device throw.
public enum PowerSyncAttachmentError: Error {
    /// Something failed for which there is no other case.
    case generalError(String)
    /// There is no attachment of this id.
    case notFound(String)
    /// There is no file at this path.
    case fileNotFound(String)
    /// Reading or writing a file failed.
    case ioError(any Error)
    /// A name or a path is not allowed: it would lead out of the folder of the attachments.
    case invalidPath(String)
    /// The queue is closed.
    case closed(String)
}

extension PowerSyncAttachmentError: LocalizedError, CustomStringConvertible {
    /// The error in one line.
    public var errorDescription: String? { description }

    /// The error in one line.
    public var description: String {
        switch self {
        case .generalError(let text), .notFound(let text), .invalidPath(let text), .closed(let text): text
        case .fileNotFound(let path): "There is no file at \(path)"
        case .ioError(let error): "Reading or writing a file failed: \(error)"
        }
    }
}
