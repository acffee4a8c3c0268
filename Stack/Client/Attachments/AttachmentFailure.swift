import PowerSync
import PowerSyncSystem

/// How errors about files are told: by a code, and in one line.
enum AttachmentFailure {
    /// Returns the code and the text of an error about files; nil for any other one.
    static func described(_ error: Any) -> (code: PowerSyncError.Code, text: String)? {
        switch error {
        case let error as PowerSyncAttachmentError: (code(of: error), error.description)
        case let error as AttachmentStorageError:
            (PowerSyncError.Code(rawValue: error.code.rawValue), error.message)
        case let error as SystemError where error.code == .file:
            (PowerSyncError.Code.fileAccess, error.description)
        default: nil
        }
    }

    private static func code(of error: PowerSyncAttachmentError) -> PowerSyncError.Code {
        switch error {
        case .generalError: .other
        case .notFound: .notFound
        case .fileNotFound: .fileNotFound
        case .ioError: .diskFailed
        case .invalidPath: .invalidPath
        case .closed: .closed
        }
    }
}

extension PowerSyncError.Code {
    /// The file of an attachment is not on the device.
    static let fileNotFound = PowerSyncError.Code(rawValue: "fileNotFound")
    /// The name of a file would lead out of the folder of attachments.
    static let invalidPath = PowerSyncError.Code(rawValue: "invalidPath")
}
