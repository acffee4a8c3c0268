import PowerSyncCrypto

/// Keys that the process made for itself: one for each algorithm, with the algorithm's name as its own.
struct TokenKeys {
    /// Those that sign.
    let signing: [JSONWebKey]
    /// What a service knows of them.
    let known: [JSONWebKey]
    /// The same without names.
    let nameless: [JSONWebKey]
    /// Other keys of the same names.
    let others: [JSONWebKey]

    init() throws {
        signing = try Self.make()
        known = signing.map { $0.keyType == .oct ? $0 : $0.publicKey() }
        nameless = known.map { key in
            var key = key
            key.kid = nil
            return key
        }
        others = try Self.make()
    }

    private static func make() throws -> [JSONWebKey] {
        try SignatureAlgorithm.allCases.map { algorithm in
            var key = try JSONWebKey.generate(algorithm)
            key.kid = algorithm.rawValue
            return key
        }
    }
}
