import PowerSyncCrypto
import PowerSyncSystem

/// The keys that sign and verify tokens, which change while the backend runs.
package final class SigningKeys: Sendable {
    /// Where keys come from.
    package enum Source: Sendable, Hashable {
        /// Keys in settings (`POWERSYNC_PRIVATE_KEY`, `POWERSYNC_PUBLIC_KEY`).
        case given(GivenKeys)
        /// A folder; without any key, a first one is made there (`JWT_KEYS_DIR`).
        case directory(String)
        /// A key of this run alone (`DEV_EPHEMERAL_KEYS`): every token dies with the process.
        case ephemeral
    }

    private let state: Lock<(set: KeySet, generation: Int)>

    /// Makes keys of their first set.
    package init(_ set: KeySet) { state = Lock((set, 0)) }

    /// Makes a key that nothing else knows.
    ///
    /// - Throws: `BackendError` with `.keys`.
    package static func ofThisRun() throws(BackendError) -> SigningKeys {
        let key: JSONWebKey
        do {
            key = try JSONWebKey.generate(.ES256)
        } catch {
            throw BackendError(.keys, "no signing key can be made: \(error)", cause: error)
        }
        return SigningKeys(try KeySet(signer: key))
    }

    /// The keys of this moment.
    package var set: KeySet { state.withLock { $0.set } }

    /// Another number once other keys sign or verify: what was verified before may not be good any more.
    package var generation: Int { state.withLock { $0.generation } }

    /// Takes other keys in place of those of before.
    package func replace(with set: KeySet) {
        state.withLock { state in
            if !set.isSame(as: state.set) { state.generation += 1 }
            state.set = set
        }
    }
}
