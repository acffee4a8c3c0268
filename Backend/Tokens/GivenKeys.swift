import PowerSyncCrypto

/// Keys that stand in settings: one that signs, and others that verify besides (Backend/Tokens/SPEC.md).
package struct GivenKeys: Sendable, Hashable {
    /// The names of the setting of the private key; the second one is that of .NET programs.
    static let privateNames = ["POWERSYNC_PRIVATE_KEY", "POWERSYNC_PRIVATEKEY"]
    /// The names of the setting of the public keys.
    static let publicNames = ["POWERSYNC_PUBLIC_KEY", "POWERSYNC_PUBLICKEY"]

    /// The key that signs, in one of its spellings.
    package let privateText: String
    /// The keys that verify besides, in one of their spellings; nil where there are none.
    package let publicText: String?
    /// The settings that have them, for errors.
    private let privateName: String
    private let publicName: String

    /// Makes keys of their texts, which are read when they are needed.
    ///
    /// - Parameters:
    ///   - privateText: the key that signs.
    ///   - publicText: the keys that verify besides; nil where there are none.
    ///   - privateName: the setting that has the first, for errors.
    ///   - publicName: the setting that has the others.
    package init(
        privateText: String, publicText: String? = nil, privateName: String = "POWERSYNC_PRIVATE_KEY",
        publicName: String = "POWERSYNC_PUBLIC_KEY"
    ) {
        self.privateText = privateText
        self.publicText = publicText
        self.privateName = privateName
        self.publicName = publicName
    }

    /// Reads the settings of such keys; nil where no private key is given.
    ///
    /// - Parameter reader: the environment.
    /// - Throws: `BackendError` with `.configuration`.
    init?(_ reader: EnvironmentReader) throws(BackendError) {
        func only(
            _ names: [String], _ values: [String?]
        ) throws(BackendError) -> (name: String, text: String)? {
            var set: [(name: String, text: String)] = []
            for (name, value) in zip(names, values) {
                if let value { set.append((name: name, text: value)) }
            }
            guard set.count < 2 else {
                throw .setting(
                    set[0].name, "and \(set[1].name) are two names of one setting: give one of them")
            }
            return set.first
        }
        let signer = try only(
            Self.privateNames,
            [try reader.secret("POWERSYNC_PRIVATE_KEY"), try reader.secret("POWERSYNC_PRIVATEKEY")])
        let others = try only(
            Self.publicNames,
            [try reader.secret("POWERSYNC_PUBLIC_KEY"), try reader.secret("POWERSYNC_PUBLICKEY")])
        guard let signer else {
            if let others {
                throw .setting(
                    others.name,
                    "has no effect without POWERSYNC_PRIVATE_KEY: set POWERSYNC_PRIVATE_KEY, or remove \(others.name), "
                        + "since the public form of a key of JWT_KEYS_DIR is published anyhow")
            }
            return nil
        }
        self.init(
            privateText: signer.text, publicText: others?.text, privateName: signer.name,
            publicName: others?.name ?? Self.publicNames[0])
    }

    /// Reads the keys.
    ///
    /// - Returns: the private one signs; that it is among the public ones, too, adds nothing.
    /// - Throws: `BackendError` with `.keys`.
    package func set() throws(BackendError) -> KeySet {
        let signer = try KeyText.key(privateText, called: privateName)
        let others = try publicText.map { (text) throws(BackendError) in
            try KeyText.publicKeys(text, called: publicName)
        }
        let thumbprint = signer.thumbprint
        return try KeySet(signer: signer, others: (others ?? []).filter { $0.thumbprint != thumbprint })
    }
}
