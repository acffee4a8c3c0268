/// A file that a row of the app refers to.
public struct WatchedAttachmentItem: Sendable {
    /// The id of the attachment.
    public let id: String
    /// What the name of the file ends with behind a point, such as `jpg`.
    public let fileExtension: String?
    /// The name of the file; nil for one that is made of the id and ``fileExtension``.
    public let filename: String?
    /// What the app wants to keep with the file.
    public let metaData: String?
    /// The media type, such as `image/jpeg`, which the row of the attachment and the storage get.
    public let mediaType: String?

    /// Names a file, by its name or by what that ends with; one of the two is needed.
    ///
    /// - Parameters:
    ///   - id: the id of the attachment.
    ///   - fileExtension: what the name of the file ends with behind a point.
    ///   - filename: the name of the file.
    ///   - metaData: what the app wants to keep with the file.
    public init(
        id: String, fileExtension: String? = nil, filename: String? = nil, metaData: String? = nil
    ) {
        self.init(
            id: id, fileExtension: fileExtension, filename: filename, metaData: metaData, mediaType: nil)
    }

    /// Names a file and its media type.
    ///
    /// - Parameters:
    ///   - id: the id of the attachment.
    ///   - fileExtension: what the name of the file ends with behind a point; needed without a filename.
    ///   - filename: the name of the file.
    ///   - metaData: what the app wants to keep with the file.
    ///   - mediaType: the media type.
    public init(
        id: String, fileExtension: String? = nil, filename: String? = nil, metaData: String? = nil,
        mediaType: String?
    ) {
        precondition(
            fileExtension != nil || filename != nil,
            "A watched attachment needs a filename or the extension of one")
        self.id = id
        self.fileExtension = fileExtension
        self.filename = filename
        self.metaData = metaData
        self.mediaType = mediaType
    }
}
