import PowerSyncCommandLine
import PowerSyncCrypto

/// What the commands for keys do: which files are to be written, in this order, so that each moment between two of them is good
/// (Backend/Tokens/SPEC.md).
package enum KeyCommands {
    /// How long others may remember published keys before a new one signs: twice what answers say (backend 4.6).
    package static let notice: Int64 = 600

    /// Makes a key that is published from now on.
    ///
    /// Where one key signs because it is alone, it is said to be the current one first: it is not alone any more.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - roster: those that are there.
    ///   - now: seconds since 1970.
    /// - Returns: what is to be written.
    /// - Throws: `BackendError` with `.keys`.
    package static func generate(
        _ key: JSONWebKey, _ roster: KeyRoster, now: Int64
    ) throws(BackendError) -> [KeyWrite] {
        var writes: [KeyWrite] = []
        if let signer = roster.signer, signer.file.times.state == nil {
            writes.append(signer.file.saying(promoted(signer.file.times, now: now, behind: nil)))
        }
        var times = KeyTimes(state: .next)
        times.published = now
        let id = key.kid ?? ""
        let name = "key-" + String(id.filter { $0.isLetter || $0.isNumber }.prefix(16)) + ".jwk"
        writes.append(try KeyFile(name: name, key: key, times: times).saying(times, isNew: true))
        return writes
    }

    /// Tells when a key may be promoted: others must have had the time to fetch it.
    ///
    /// - Parameters:
    ///   - entry: the key.
    ///   - now: seconds since 1970, from which the time of a key counts of which nobody knows since when it is published.
    /// - Returns: seconds since 1970.
    /// - Throws: `CommandError` for a key that cannot sign, or has signed.
    package static func promotable(_ entry: KeyRoster.Entry, now: Int64) throws(CommandError) -> Int64 {
        guard entry.file.key.isPrivate else {
            throw CommandError("\(entry.file.name) is a public key: it cannot sign")
        }
        switch entry.standing {
        case .signs: return now
        case .next, .unstated: return (entry.file.times.published ?? now) + notice
        case .verifies, .over:
            throw CommandError("\(entry.file.id) is retired: generate another key and promote that")
        }
    }

    /// Has a key sign from now on, and retires the one that did.
    ///
    /// The new one first: of two current ones the newer signs, so a crash in between changes nothing.
    ///
    /// - Parameters:
    ///   - entry: the key.
    ///   - roster: those that are there.
    ///   - now: seconds since 1970.
    /// - Returns: what is to be written; nothing for the one that signs.
    package static func promote(_ entry: KeyRoster.Entry, _ roster: KeyRoster, now: Int64) -> [KeyWrite] {
        if entry.standing == .signs, entry.file.times.state == .current { return [] }
        let former = roster.signer?.file.times.current
        let times = promoted(entry.file.times, now: now, behind: former)
        var writes = [entry.file.saying(times)]
        for other in roster.entries where other.file.name != entry.file.name {
            guard other.file.times.state == .current else { continue }
            var retired = other.file.times
            retired.state = .retired
            // One that did not sign any more has retired when the one began that did.
            retired.retired = other.standing == .signs ? times.current : former ?? now
            writes.append(other.file.saying(retired))
        }
        return writes
    }

    /// Has a key sign nothing any more.
    ///
    /// - Parameters:
    ///   - entry: the key.
    ///   - isNow: whether what it has signed counts no more either.
    ///   - now: seconds since 1970.
    /// - Returns: what is to be written; nothing where it is so already.
    /// - Throws: `CommandError` for the current one.
    package static func retire(
        _ entry: KeyRoster.Entry, isNow: Bool, now: Int64
    ) throws(CommandError) -> [KeyWrite] {
        guard entry.standing != .signs else {
            throw CommandError(
                "\(entry.file.id) is the current key: generate another one and promote that first")
        }
        var times = entry.file.times
        if times.state != .retired {
            times.state = .retired
            times.retired = now
        }
        if isNow { times.revoked = times.revoked ?? now }
        return times == entry.file.times ? [] : [entry.file.saying(times)]
    }

    /// Finds the key that a text means.
    ///
    /// - Parameters:
    ///   - text: the beginning of its name, of eight letters or more.
    ///   - roster: the keys.
    /// - Returns: the key.
    /// - Throws: `CommandError` where it means none, or several.
    package static func find(_ text: String, in roster: KeyRoster) throws(CommandError) -> KeyRoster.Entry {
        let whole = roster.entries.filter { $0.file.id == text }
        let found =
            whole.isEmpty && text.utf8.count >= 8
            ? roster.entries.filter { $0.file.id.hasPrefix(text) } : whole
        guard let entry = found.first else {
            throw CommandError(
                "no key is named \(TextTable.shown(text)): give 8 letters or more of a KID of keys list")
        }
        guard found.count == 1 else {
            throw CommandError("several keys begin with \(TextTable.shown(text)): give more of the KID")
        }
        return entry
    }

    /// Tells what a key does, for people.
    static func words(_ entry: KeyRoster.Entry) -> String {
        switch entry.standing {
        case .signs: "signs and verifies"
        case .next: "verifies; signs once it is promoted"
        case .unstated: "verifies"
        case .verifies(let end): "verifies until \(end)"
        case .over: entry.file.times.revoked == nil ? "nothing: its time is over" : "nothing: it is revoked"
        }
    }

    private static func promoted(_ before: KeyTimes, now: Int64, behind former: Int64?) -> KeyTimes {
        var times = before
        times.state = .current
        times.published = before.published ?? now
        times.current = max(now, (former ?? 0) + 1)
        times.retired = nil
        return times
    }
}
