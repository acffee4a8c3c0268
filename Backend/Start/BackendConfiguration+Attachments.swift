import PowerSyncWire

extension BackendConfiguration {
    /// Reads where attachments are kept, and how many (backend 10).
    ///
    /// - Parameter reader: the environment.
    /// - Throws: `BackendError` with `.configuration`, naming the variable.
    mutating func readAttachments(_ reader: EnvironmentReader) throws(BackendError) {
        guard let url = try reader.text("ATTACHMENTS_STORE") else { return }
        var variables = reader.variables
        for name in [
            ObjectStoreConfiguration.accessKeyVariable, ObjectStoreConfiguration.secretKeyVariable,
            ObjectStoreConfiguration.sessionTokenVariable,
        ] {
            variables[name] = try reader.secret(name)
        }
        var attachments = AttachmentConfiguration(
            store: try ObjectStoreConfiguration(url: url, environment: variables))
        if let url = try reader.text("ATTACHMENTS_PUBLIC_URL") {
            attachments.publicURL = try Self.publicURL(url)
        }
        attachments.policy.fileBytes =
            try reader.number("ATTACHMENTS_MAX_BYTES", 1...10_000 * Int(AttachmentPart.size)).map {
                Int64($0)
            }
            ?? attachments.policy.fileBytes
        attachments.policy.userBytes =
            try reader.number("ATTACHMENTS_QUOTA_BYTES", 1...(1 << 60)).map { Int64($0) }
            ?? attachments.policy.userBytes
        attachments.policy.userFiles =
            try reader.number("ATTACHMENTS_QUOTA_FILES", 1...1_000_000_000) ?? attachments.policy.userFiles
        attachments.policy.types = try reader.list("ATTACHMENTS_TYPES").map { $0.lowercased() }
        guard attachments.policy.types.allSatisfy(AttachmentPolicy.isType) else {
            throw .setting(
                "ATTACHMENTS_TYPES",
                "must be media types, separated by commas, such as image/*,application/pdf")
        }
        self.attachments = attachments
    }

    /// What the URLs of a store of our own begin with: scheme, host, and a path of whatever stands before the backend.
    private static func publicURL(_ text: String) throws(BackendError) -> String {
        let scheme = ["http://", "https://"].first { text.hasPrefix($0) }
        let rest = text.dropFirst(scheme?.count ?? 0)
        let isFit =
            !rest.isEmpty && rest.utf8.first != UInt8(ascii: "/")
            && rest.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"?#@\"<>\\".utf8.contains($0) }
        guard scheme != nil, isFit else {
            throw .setting(
                "ATTACHMENTS_PUBLIC_URL",
                "must be where devices reach this backend, such as https://files.example.com")
        }
        var url = text
        while url.hasSuffix("/") { url.removeLast() }
        return url
    }
}
