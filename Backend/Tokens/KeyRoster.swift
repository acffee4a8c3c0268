import PowerSyncCrypto

/// The keys of a folder at one moment, and what each of them does: a value of files, time and how long tokens live.
package struct KeyRoster: Sendable {
    /// What a key does now.
    package enum Standing: Sendable, Hashable {
        /// It signs.
        case signs
        /// It is published, and signs later.
        case next
        /// Nobody has said what it is for: it verifies.
        case unstated
        /// It has signed, and verifies until this moment.
        case verifies(until: Int64)
        /// It counts for nothing any more.
        case over
    }

    /// One key.
    package struct Entry: Sendable {
        /// Its file.
        package let file: KeyFile
        /// What it does.
        package let standing: Standing
    }

    /// How far two clocks may differ.
    private static let tolerance: Int64 = 60

    /// The keys, by the names of their files.
    package let entries: [Entry]

    /// Makes a roster.
    ///
    /// - Parameters:
    ///   - files: the keys of the folder.
    ///   - now: seconds since 1970.
    ///   - lifetime: seconds that a token lives.
    /// - Throws: `BackendError` with `.keys` where two keys have one name.
    package init(_ files: [KeyFile], now: Int64, lifetime: Int64) throws(BackendError) {
        let files = files.sorted { $0.name < $1.name }
        for names in [Dictionary(grouping: files, by: \.stem), Dictionary(grouping: files, by: \.id)] {
            guard let twice = names.values.first(where: { $0.count > 1 }) else { continue }
            throw BackendError(
                .keys,
                "\(twice.map(\.name).joined(separator: " and ")) have one name, of the file or of the key (kid)"
            )
        }
        let signer = Self.signer(files)
        entries = files.map { file in
            Entry(
                file: file,
                standing: file.name == signer?.name
                    ? .signs
                    : Self.standing(file, behind: signer, now: now, kept: lifetime + Self.tolerance))
        }
    }

    /// The key that signs; nil where nobody has said which.
    package var signer: Entry? { entries.first { $0.standing == .signs } }

    /// The keys as tokens are signed and verified with them.
    ///
    /// - Returns: the keys; without a signer where there is none.
    /// - Throws: `BackendError` with `.keys`.
    package func set() throws(BackendError) -> KeySet {
        let others = entries.filter { $0.standing != .signs && $0.standing != .over }
        return try KeySet(signer: signer?.file.key, others: others.map(\.file.key))
    }

    /// Returns the keys, one of which signs.
    ///
    /// - Throws: `BackendError` that says what to do where none does.
    func signingSet() throws(BackendError) -> KeySet {
        guard signer == nil else { return try set() }
        let waiting = entries.filter { [Standing.next, .unstated].contains($0.standing) }
        let names = waiting.map(\.file).filter(\.key.isPrivate).map(\.id)
        guard !names.isEmpty else {
            throw BackendError(
                .keys, "none of the keys can sign: powersync-backend keys generate makes one, to be promoted")
        }
        throw BackendError(
            .keys,
            "none of the keys is the current one: say which is, with powersync-backend keys promote KID --now, where "
                + "KID is one of \(names.joined(separator: ", "))")
    }

    /// Of several current ones the newest signs; one that is alone and of which nothing is said signs, too.
    private static func signer(_ files: [KeyFile]) -> KeyFile? {
        if files.count == 1, let only = files.first, only.key.isPrivate, only.times.state == nil,
            only.times.revoked == nil
        {
            return only
        }
        let current = files.filter {
            $0.times.state == .current && $0.times.revoked == nil && $0.key.isPrivate
        }
        return current.max { ($0.times.current ?? 0, $0.name) < ($1.times.current ?? 0, $1.name) }
    }

    private static func standing(
        _ file: KeyFile, behind signer: KeyFile?, now: Int64, kept: Int64
    ) -> Standing {
        guard file.times.revoked == nil else { return .over }
        switch file.times.state {
        case .next: return .next
        case nil: return .unstated
        case .current, .retired:
            // One that a newer one has followed has retired at that moment.
            guard let retired = file.times.retired ?? signer?.times.current else { return .unstated }
            return now < retired + kept ? .verifies(until: retired + kept) : .over
        }
    }
}
