import PowerSyncWire

/// What requests about attachments are answered with (Backend/Attachments/SPEC.md).
extension Problem {
    /// There is no such attachment for the caller: the same words whether there is none, or one of somebody else.
    package static let unknownAttachment = Problem(404, AttachmentProblem.unknown, "Unknown attachment")

    /// Who may have it must come again: its bytes are on their way.
    package static let notUploaded = Problem(
        404, AttachmentProblem.notUploaded, "Not uploaded yet", isRetryable: true)

    /// Nobody can say whose file is meant; as with one whose bytes are on their way, the client comes again.
    package static let severalOwners = Problem(
        404, AttachmentProblem.notUploaded, "Not uploaded yet",
        detail: "rows of several owners name the attachment: say which one is meant (table, rowId)",
        isRetryable: true)

    /// What is said to be uploaded is not in the store.
    package static let notStored = Problem(
        409, AttachmentProblem.notStored, "Not stored", detail: "ask for an upload URL again",
        isRetryable: true)

    /// A row names what is to be deleted.
    package static let stillReferenced = Problem(
        409, AttachmentProblem.stillReferenced, "Still referenced", isRetryable: true)

    /// The id was deleted, and never is another file's.
    package static let gone = Problem(410, AttachmentProblem.gone, "Gone")

    /// The attachment is another one, or further, than the request takes it for.
    package static func conflict(_ detail: String) -> Problem {
        Problem(409, AttachmentProblem.conflict, "Conflict", detail: detail)
    }

    /// The file has more bytes than any may have.
    package static func tooLargeAttachment(_ limit: Int64) -> Problem {
        .tooLarge("an attachment has at most \(limit) bytes", limit: Int(limit))
    }

    /// The operator takes other types of files.
    package static let attachmentTypeNotAllowed = Problem(
        415, "unsupported-media-type", "Unsupported media type",
        detail: "attachments of this content type are not taken")

    /// The user has as much as one may have.
    package static func attachmentQuota(_ policy: AttachmentPolicy) -> Problem {
        var problem = Problem(
            429, AttachmentProblem.quota, "Quota exceeded",
            detail: "a user has at most \(policy.userFiles) attachments with \(policy.userBytes) bytes",
            isRetryable: true)
        problem.retryAfter = 60
        return problem
    }
}
