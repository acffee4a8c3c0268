import PowerSyncCrypto
import PowerSyncSystem

/// Remembers whom tokens have proved, so that each is verified once.
///
/// An entry counts until its token ends, or the keys of its kind change.
/// What is found in the older half moves to the younger one; a full younger half becomes the older one.
package final class VerifiedTokens: Sendable {
    /// The most tokens that are remembered.
    package static let most = 10_000

    private struct Entry {
        let principal: Principal
        let generation: Int
        let end: Double
    }

    private struct State {
        var young: [[UInt8]: Entry] = [:]
        var old: [[UInt8]: Entry] = [:]
        /// The newest generation of the keys of each kind that somebody has seen.
        var generations: [Principal.Kind: Int] = [:]

        /// Forgets what other keys have signed; false for a generation that is over.
        mutating func follows(_ generation: Int, of kind: Principal.Kind) -> Bool {
            let known = generations[kind] ?? generation
            if generation > known {
                young = young.filter { $0.value.principal.kind != kind }
                old = old.filter { $0.value.principal.kind != kind }
            }
            generations[kind] = max(known, generation)
            return generation >= known
        }

        mutating func insert(_ entry: Entry, _ name: [UInt8]) {
            old[name] = nil
            if young[name] == nil, young.count >= VerifiedTokens.most / 2 {
                old = young
                young = [:]
            }
            young[name] = entry
        }
    }

    private let state = Lock(State())

    /// Makes a memory of nothing.
    package init() {}

    /// How many tokens are remembered.
    package var count: Int { state.withLock { $0.young.count + $0.old.count } }

    /// Returns whom a token has proved.
    ///
    /// - Parameters:
    ///   - token: the token.
    ///   - kind: by whose keys it counts.
    ///   - generation: that of those keys now.
    ///   - now: seconds since 1970.
    /// - Returns: who; nil for a token that is not remembered, or whose time is over.
    package func principal(
        _ token: String, _ kind: Principal.Kind, generation: Int, now: Double
    ) -> Principal? {
        let name = Self.name(token, kind)
        return state.withLock { state in
            guard state.follows(generation, of: kind), let entry = state.young[name] ?? state.old[name] else {
                return nil
            }
            guard entry.generation == generation, now < entry.end else {
                state.young[name] = nil
                state.old[name] = nil
                return nil
            }
            if state.young[name] == nil { state.insert(entry, name) }
            return entry.principal
        }
    }

    /// Remembers whom a token has proved.
    ///
    /// - Parameters:
    ///   - principal: who; the kind says by whose keys.
    ///   - token: the token.
    ///   - generation: that of the keys by which it was verified.
    ///   - current: that of those keys now: an entry whose generation is over is not made.
    package func remember(_ principal: Principal, _ token: String, generation: Int, current: Int) {
        guard generation == current, case .number(let lexeme)? = principal.claims["exp"],
            let expiry = Double(lexeme)
        else { return }
        let entry = Entry(
            principal: principal, generation: generation, end: expiry + TokenRules.tolerance)
        let name = Self.name(token, principal.kind)
        state.withLock { state in
            guard state.follows(generation, of: principal.kind) else { return }
            state.insert(entry, name)
        }
    }

    /// The token itself is not kept.
    private static func name(_ token: String, _ kind: Principal.Kind) -> [UInt8] {
        Digest.sha256(Array((kind.rawValue + " " + token).utf8))
    }
}
