import PowerSyncCrypto

/// Keys that stand in settings: one that signs, and others that verify besides (Backend/DESIGN.md 4).
package struct GivenKeys: Sendable, Hashable {
    /// The names of the setting of the private key; the second one is that of .NET programs.
    static let privateNames = ["POWERSYNC_PRIVATE_KEY", "POWERSYNC_PRIVATEKEY"]
    /// The names of the setting of the public keys.
    static let publicNames = ["POWERSYNC_PUBLIC_KEY", "POWERSYNC_PUBLICKEY"]

    /// The key that signs, in one of its spellings.
    package let privateText: String
    /// The keys that verify besides, in one of their spellings; nil where there are none.
    package let publicText: String?

    /// Makes keys of their texts, which are read when they are needed.
    package init(privateText: String, publicText: String? = nil) {
        self.privateText = privateText
        self.publicText = publicText
    }

    /// Reads the settings of such keys.
    ///
    /// - Parameter reader: the environment.
    /// - Returns: the keys; nil where no private key is given.
    /// - Throws: `BackendError` with `.configuration`.
    init?(_ reader: EnvironmentReader) throws(BackendError) {
        func only(_ names: [String], _ values: [String?]) throws(BackendError) -> String? {
            let set = zip(names, values).filter { $0.1 != nil }
            guard set.count < 2 else {
                throw .setting(set[0].0, "and \(set[1].0) are two names of one setting: give one of them")
            }
            return set.first?.1
        }
        let privateText = try only(
            Self.privateNames,
            [try reader.secret("POWERSYNC_PRIVATE_KEY"), try reader.secret("POWERSYNC_PRIVATEKEY")])
        let publicText = try only(
            Self.publicNames,
            [try reader.text("POWERSYNC_PUBLIC_KEY"), try reader.text("POWERSYNC_PUBLICKEY")])
        guard let privateText else {
            if publicText != nil {
                throw .setting(
                    "POWERSYNC_PUBLIC_KEY",
                    "counts with POWERSYNC_PRIVATE_KEY alone, which is not set: the public form of a key of "
                        + "JWT_KEYS_DIR is published anyhow")
            }
            return nil
        }
        self.init(privateText: privateText, publicText: publicText)
    }

    /// Reads the keys.
    ///
    /// - Returns: the private one signs; that it is among the public ones, too, adds nothing.
    /// - Throws: `BackendError` with `.keys`.
    package func set() throws(BackendError) -> KeySet {
        let signer = try KeyText.key(privateText, called: Self.privateNames[0])
        let others = try publicText.map { (text) throws(BackendError) in
            try KeyText.publicKeys(text, called: Self.publicNames[0])
        }
        let thumbprint = signer.thumbprint
        return try KeySet(signer: signer, others: (others ?? []).filter { $0.thumbprint != thumbprint })
    }
}
